"""The prediction of an apply equals its actual result, regardless of which clients wrote the Tenant before.

All tenants are paused, so that the watcher runs no updates.
"""

import json
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cli.apply.author import Author
from cli.apply.field_ownership import (
    APPLY_MANAGER,
    CLIENT_SIDE_MANAGER,
    ROLLBACK_MANAGER,
    ApplyMethod,
)
from cli.apply.write_tenant import FieldConflict, predicted_tenant, write_tenant
from tenancy.base.kinds import TENANTS
from tenancy.base.manifest import Manifest
from tenancy.spec.tenant import TenantSpec
from tests.platform import NewTenant, Platform, tenant_manifest

TENANT = TENANTS[0]
KUBECTL = ApplyMethod(CLIENT_SIDE_MANAGER, is_client_side=True)
METHODS = (ApplyMethod(), ApplyMethod(is_forced=True), ApplyMethod("argocd-controller"), KUBECTL)


def random_spec(source: random.Random) -> dict[str, Any]:
    """A valid spec with a random subset of the fields.

    The fields are scalars, a set, a list with keys, and objects.
    """
    fields: dict[str, Any] = {
        "plan": source.choice(["basic", "pro"]),
        "displayName": source.choice(["One", "Two"]),
        "adminUsers": source.sample(["alice", "bob", "carol"], 2),
        "namespaces": [
            {"name": name, "purpose": source.choice(["development", "production"])}
            for name in source.sample(["a", "b", "c"], source.randint(1, 3))
        ],
        "resourceQuotas": {key: source.choice(["1", "2"]) for key in source.sample(["cpu", "memory"], 1)},
        "rbacConfig": {"users": source.sample(["dave", "erin"], 1)},
        "registries": source.sample(["a.example.test", "b.example.test"], 1),
    }
    kept = source.sample(sorted(fields), source.randint(1, len(fields)))
    return {name: fields[name] for name in kept}


def kubectl_apply(platform: Platform, manifest: Manifest, folder: Path) -> None:
    file = folder / "tenant.json"
    file.write_text(json.dumps(manifest))
    command = ["kubectl", "--kubeconfig", str(platform.admin_kubeconfig), "apply", "-f", str(file)]
    subprocess.run(command, check=True, capture_output=True, env=platform.environment)


def write_before(platform: Platform, manifest: Manifest, source: random.Random, folder: Path) -> None:
    """Create the Tenant with a random client, and change it with another random client."""
    match source.choice(["kubectl", "argocd", "tenancy"]):
        case "kubectl":
            kubectl_apply(platform, manifest, folder)
        case "argocd":
            platform.admin.apply(manifest, field_manager="argocd-controller")
        case "tenancy":
            platform.admin.apply(manifest, field_manager=APPLY_MANAGER)
    change = {"spec": random_spec(source)}
    match source.choice(["nobody", "edit", "rollback", "other"]):
        case "edit":
            platform.admin.patch(TENANT, manifest["metadata"]["name"], change, field_manager="kubectl-edit")
        case "rollback":
            platform.admin.patch(TENANT, manifest["metadata"]["name"], change, field_manager=ROLLBACK_MANAGER)
        case "other":
            platform.admin.apply({**manifest, **change}, field_manager="other")


def comparable(spec: dict[str, Any]) -> dict[str, Any]:
    """The spec with its defaults, in the form that the watcher reads.

    Lists are sorted, because their order has no meaning.
    """

    def ordered(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: ordered(part) for key, part in value.items()}
        return sorted(map(ordered, value), key=json.dumps) if isinstance(value, list) else value

    ordered_spec: dict[str, Any] = ordered(TenantSpec.model_validate(spec).model_dump(mode="json"))
    return ordered_spec


@pytest.mark.parametrize("seed", range(30))
def test_prediction_is_the_outcome(
    platform: Platform, new_tenant: NewTenant, tmp_path: Path, seed: int
) -> None:
    source = random.Random(seed)
    name = f"predicted-{seed}"
    new_tenant(name, paused=True)  # Deletes the tenant after the test.
    platform.admin.delete(TENANT, name)
    before, after = (tenant_manifest(name, **{**random_spec(source), "paused": True}) for _ in range(2))
    write_before(platform, before, source, tmp_path)
    method = source.choice(METHODS)
    live = platform.admin.get(TENANT, name)
    assert live is not None
    predictions: list[Any] = []
    for cluster in (platform.admin, None):
        try:
            predictions.append(comparable(predicted_tenant(cluster, live, after, method).tenant["spec"]))
        except FieldConflict as conflict:
            predictions.append(str(conflict))
    with_dry_run, computed = predictions
    if isinstance(with_dry_run, str):
        with pytest.raises(FieldConflict):
            write_tenant(platform.admin, live, after, method, Author(platform.admin))
        unchanged = platform.admin.get(TENANT, name)
        assert unchanged is not None
        assert unchanged["spec"] == live["spec"]
        return
    if method.is_client_side:
        kubectl_apply(platform, after, tmp_path)
    else:
        write_tenant(platform.admin, live, after, method, Author(platform.admin))
    outcome = platform.admin.get(TENANT, name)
    assert outcome is not None
    actual = comparable(outcome["spec"])
    assert with_dry_run == actual
    assert computed == actual

"""With `tenancy import`, a tenant adopts existing namespaces, and their workloads are not changed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.served_kinds import served_kinds
from tenancy.base.kinds import KIND_BY_KEY, NAMESPACE, NETWORK_POLICY, RESOURCE_QUOTA, ROLE_BINDING, Kind
from tenancy.base.labels import ADOPTION_ANNOTATION
from tenancy.base.manifest import Manifest
from tenancy.changes import object_changes
from tenancy.desired import desired_state
from tenancy.plans import read_plans
from tenancy.spec.tenant import tenant_from_manifest
from tests.cli.conftest import Run
from tests.platform import NewTenant, Platform

POD = Kind("v1", "Pod", "pods")
DEPLOYMENT = Kind("apps/v1", "Deployment", "deployments")
CONTAINER = {"name": "main", "image": "example.com/app:1", "resources": {"requests": {"cpu": "200m"}}}
DANE = {"kind": "User", "name": "dane", "apiGroup": "rbac.authorization.k8s.io"}
CREW = {"kind": "Group", "name": "crew", "apiGroup": "rbac.authorization.k8s.io"}


@pytest.fixture
def put(platform: Platform) -> Iterator[Any]:
    """A function that creates objects before the tenant exists.

    After the test, the fixture deletes their namespaces.
    """
    namespaces: list[str] = []

    def make(kind: Kind, namespace: str, name: str, **body: Any) -> Manifest:
        metadata = {"name": name, "namespace": namespace} if kind.is_namespaced else {"name": name}
        manifest = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **body}
        if kind == NAMESPACE:
            namespaces.append(name)
        return platform.admin.create(kind, manifest)

    yield make
    for name in namespaces:
        platform.admin.delete(NAMESPACE, name)


def bind(put: Any, namespace: str, kind: str, role: str, *subjects: Manifest) -> None:
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role}
    put(ROLE_BINDING, namespace, f"old-{role}", roleRef=ref, subjects=list(subjects))


def app(put: Any, namespace: str) -> tuple[Manifest, Manifest]:
    labels = {"matchLabels": {"app": "app"}}
    template = {"metadata": {"labels": {"app": "app"}}, "spec": {"containers": [CONTAINER]}}
    # The Deployment has no replicas, because no controller in this control plane would create their pods.
    deployment = put(
        DEPLOYMENT, namespace, "app", spec={"replicas": 0, "selector": labels, "template": template}
    )
    return deployment, put(POD, namespace, "lonely", spec={"containers": [CONTAINER]})


def comments(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if line.startswith("#"))


def test_imported_namespaces_become_active_with_their_workloads_untouched(
    platform: Platform, put: Any, tenancy: Run, tmp_path: Path
) -> None:
    namespaces = [put(NAMESPACE, "", name) for name in ("orders-prod", "tenant-orders-dev")]
    workloads = app(put, "orders-prod")
    put(RESOURCE_QUOTA, "orders-prod", "old", spec={"hard": {"requests.cpu": "2", "limits.cpu": "3"}})
    bind(put, "orders-prod", "ClusterRole", "edit", DANE)
    bind(put, "orders-prod", "ClusterRole", "view", CREW)
    bind(put, "tenant-orders-dev", "ClusterRole", "view", CREW)

    result = tenancy("import", "orders-prod", "tenant-orders-dev", "--name", "orders")
    assert result.returncode == 0, result.stderr
    manifest = yaml.safe_load(result.stdout)
    assert manifest["spec"] == {
        "plan": "pro",
        "adopt": True,
        "deletionPolicy": "Retain",
        "namespaces": [
            {"name": "prod", "purpose": "production", "existing": "orders-prod"},
            {"name": "dev"},
        ],
        "access": [
            {"kind": "Group", "name": "crew", "role": "viewer"},
            {"kind": "User", "name": "dane", "role": "operator", "namespaces": ["prod"]},
        ],
        "resourceQuotas": {"cpu": "3"},
    }
    assert "# These namespaces existed before the tenant" in result.stdout
    path = tmp_path / "orders.yaml"
    path.write_text(result.stdout)
    for namespace in namespaces:
        name = namespace["metadata"]["name"]
        command = f"kubectl annotate namespace {name} adoption.platform.ai/tenant=orders"
        assert command in " ".join(comments(result.stdout).replace("#", " ").split())
        platform.admin.patch(NAMESPACE, name, {"metadata": {"annotations": {ADOPTION_ANNOTATION: "orders"}}})
    try:
        applied = tenancy("apply", str(path))
        assert applied.returncode == 0, applied.stderr
        for namespace in namespaces:
            now = platform.namespace(namespace["metadata"]["name"])
            assert now is not None
            assert now["metadata"]["uid"] == namespace["metadata"]["uid"]
        for kind, before in zip((DEPLOYMENT, POD), workloads, strict=True):
            after = platform.admin.get(kind, before["metadata"]["name"], "orders-prod")
            assert after is not None
            assert after["metadata"]["uid"] == before["metadata"]["uid"]
            assert after["spec"] == before["spec"]
        plans, served = read_plans(), served_kinds(platform.admin)
        desired = desired_state(tenant_from_manifest(manifest), plans, served)
        live = {
            key: platform.admin.get(KIND_BY_KEY[key.kind], key.name, key.namespace) for key in desired.by_key
        }
        assert object_changes(desired, {key: manifest for key, manifest in live.items() if manifest}) == ()
    finally:
        platform.verify_and_abandon([manifest])


def test_what_a_tenant_cannot_hold_is_said_in_comments(put: Any, tenancy: Run) -> None:
    put(NAMESPACE, "", "legacy")
    app(put, "legacy")
    bind(put, "legacy", "ClusterRole", "system:image-puller", CREW)
    put(RESOURCE_QUOTA, "legacy", "old", spec={"hard": {"pods": "3"}})
    ingress = [{"from": [{"ipBlock": {"cidr": "192.0.2.0/24"}}]}]
    put(NETWORK_POLICY, "legacy", "open", spec={"podSelector": {}, "ingress": ingress, "egress": [{}]})
    result = tenancy("import", "legacy", "--name", "old-team", "--plan", "basic")
    assert result.returncode == 0, result.stderr
    notes = comments(result.stdout)
    assert "RoleBinding legacy/old-system:image-puller stays" in notes
    assert "ResourceQuota legacy/old stays" in notes
    assert "Not imported: pods." in notes
    assert "ingress from 192.0.2.0/24; egress to anywhere" in notes
    assert 'Pod security restricted: existing pods in namespace "legacy" violate' in notes
    assert "lonely" in notes
    assert yaml.safe_load(result.stdout)["spec"]["plan"] == "basic"

    as_json = tenancy("import", "legacy", "--name", "old-team", "--plan", "basic", "-o", "json")
    assert yaml.safe_load(as_json.stdout) == yaml.safe_load(result.stdout)
    assert "ResourceQuota legacy/old stays" in as_json.stderr


def test_the_only_namespace_of_the_natural_name_needs_no_list(put: Any, tenancy: Run) -> None:
    put(NAMESPACE, "", "tenant-natural")
    result = tenancy("import", "tenant-natural", "--name", "natural")
    spec = yaml.safe_load(result.stdout)["spec"]
    assert spec == {"plan": "basic", "adopt": True, "deletionPolicy": "Retain"}


def test_more_namespaces_than_the_plan_allows_are_noted(put: Any, tenancy: Run) -> None:
    names = [f"crowd-{number}" for number in range(6)]
    for name in names:
        put(NAMESPACE, "", name)
    result = tenancy("import", *names, "--name", "crowd", "--plan", "basic")
    assert "Plan basic allows 5 namespaces, but 6 are imported" in comments(result.stdout)
    assert yaml.safe_load(tenancy("import", *names, "--name", "crowd").stdout)["spec"]["plan"] == "pro"


def test_what_cannot_be_adopted_is_refused(platform: Platform, new_tenant: NewTenant, tenancy: Run) -> None:
    platform.await_active(new_tenant("import-owner"))
    for arguments, problem in (
        (("kube-system", "--name", "x"), "is reserved for Kubernetes"),
        (("tenant-import-owner", "--name", "x"), "belongs to tenant 'import-owner'"),
        (("nowhere", "--name", "x"), "there is no namespace 'nowhere'"),
        (("default", "--name", "import-owner"), "the tenant 'import-owner' already exists"),
        (("default", "--name", "x", "--plan", "none-such"), "there is no plan 'none-such'"),
    ):
        result = tenancy("import", *arguments)
        assert (result.returncode, result.stdout) == (1, "")
        assert problem in result.stderr

"""Some differences between desired and live objects are drift. Patches repair the drift."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tenancy.base.manifest import Manifest, ObjectKey, object_key
from tenancy.changes import object_changes
from tenancy.desired import desired_state
from tenancy.drift import drift, drift_text, object_drift, repair_patch, unwanted
from tenancy.plans import read_plans
from tenancy.spec.tenant import tenant_from_manifest
from tests.tenancy.served import as_served

DESIRED = desired_state(
    tenant_from_manifest({"metadata": {"name": "acme"}, "spec": {"adminUsers": ["alice"]}}), read_plans()
)
NAMESPACE = ObjectKey("Namespace", "", "tenant-acme")
DENY = ObjectKey("NetworkPolicy", "tenant-acme", "default-deny-all")
QUOTA = ObjectKey("ResourceQuota", "tenant-acme", "tenant-quota")
ADMINS = ObjectKey("RoleBinding", "tenant-acme", "tenant-admin")
VIEWERS = ObjectKey("RoleBinding", "tenant-acme", "tenant-viewer")
LIMITS = ObjectKey("LimitRange", "tenant-acme", "tenant-limits")
ADMIN_ROLE = ObjectKey("Role", "tenant-acme", "tenant-admin")
INTRA = ObjectKey("NetworkPolicy", "tenant-acme", "allow-intra-tenant")
ALICE = {"kind": "User", "name": "alice", "apiGroup": "rbac.authorization.k8s.io"}
LIVE = {key: as_served(manifest) for key, manifest in DESIRED.by_key.items()}


def changed(key: ObjectKey, change: Callable[[Manifest], Any]) -> Manifest:
    live = copy.deepcopy(LIVE[key])
    change(live)
    return live


def test_objects_as_served_are_no_drift() -> None:
    assert drift(DESIRED.by_key, LIVE) == {}


HARMLESS: dict[str, tuple[ObjectKey, Callable[[Manifest], Any]]] = {
    "a foreign label": (NAMESPACE, lambda live: live["metadata"]["labels"].update(team="x")),
    "a foreign annotation": (
        NAMESPACE,
        lambda live: live["metadata"].setdefault("annotations", {}).update(a="b"),
    ),
    "the namespace's own finalizer": (
        NAMESPACE,
        lambda live: live.update(spec={"finalizers": ["kubernetes"]}),
    ),
    "a quota's status": (QUOTA, lambda live: live.update(status={"used": {"cpu": "1"}})),
    "a default the server adds to the limits": (
        LIMITS,
        lambda live: live["spec"]["limits"][0]["default"].update({"example.com/gpu": "1"}),
    ),
}


@pytest.mark.parametrize("case", HARMLESS)
def test_other_peoples_fields_are_no_drift(case: str) -> None:
    key, change = HARMLESS[case]
    assert object_drift(DESIRED.by_key[key], changed(key, change)) is None


HARMFUL: dict[str, tuple[ObjectKey, Callable[[Manifest], Any], str, Manifest]] = {
    "a label taken away": (
        NAMESPACE,
        lambda live: live["metadata"]["labels"].pop("kleff.io/tenant-plan"),
        "metadata.labels.kleff.io/tenant-plan changed",
        {"metadata": {"labels": {"kleff.io/tenant-plan": "basic"}}},
    ),
    "a label of ours added": (
        NAMESPACE,
        lambda live: live["metadata"]["labels"].update({"tenant.platform.ai/cordoned": "true"}),
        "metadata.labels.tenant.platform.ai/cordoned changed",
        {"metadata": {"labels": {"tenant.platform.ai/cordoned": None}}},
    ),
    "an allow list added": (
        NAMESPACE,
        lambda live: live["metadata"]["annotations"].update({"policy.platform.ai/registries": "evil.test"}),
        "metadata.annotations.policy.platform.ai/registries changed",
        {"metadata": {"annotations": {"policy.platform.ai/registries": None}}},
    ),
    "a rule in an empty list": (
        DENY,
        lambda live: live["spec"].update(ingress=[{}]),
        "spec.ingress changed",
        {"spec": {"ingress": []}},
    ),
    "a narrowed selector": (
        DENY,
        lambda live: live["spec"].update(podSelector={"matchLabels": {"a": "b"}}),
        "spec.podSelector.matchLabels changed",
        {"spec": {"podSelector": {"matchLabels": None}}},
    ),
    "a raised quota": (
        QUOTA,
        lambda live: live["spec"]["hard"].update(cpu="9"),
        "spec.hard.cpu changed",
        {"spec": {"hard": {"cpu": "500m"}}},
    ),
    "a scope on a quota": (
        QUOTA,
        lambda live: live["spec"].update(scopeSelector={"matchExpressions": []}),
        "spec.scopeSelector changed",
        {"spec": {"scopeSelector": None}},
    ),
    "one more admin": (
        ADMINS,
        lambda live: live["subjects"].append({"kind": "User"}),
        "subjects changed",
        {"subjects": [ALICE]},
    ),
    "another admin": (
        ADMINS,
        lambda live: live["subjects"][0].update(name="eve"),
        "subjects[0].name changed",
        {"subjects": [ALICE]},
    ),
    "a selector emptied inside a list": (
        INTRA,
        lambda live: live["spec"]["ingress"][0]["from"][0].update(namespaceSelector={}),
        "spec.ingress[0].from[0].namespaceSelector.matchLabels.tenant.platform.ai/name changed",
        {"spec": {"ingress": DESIRED.by_key[INTRA]["spec"]["ingress"]}},
    ),
    "a rule narrowed to some names": (
        ADMIN_ROLE,
        lambda live: live["rules"][0].update(resourceNames=["x"]),
        "rules[0].resourceNames changed",
        {"rules": DESIRED.by_key[ADMIN_ROLE]["rules"]},
    ),
    "a policy narrowed to a port": (
        INTRA,
        lambda live: live["spec"]["egress"][0].update(ports=[{"port": 1}]),
        "spec.egress[0].ports changed",
        {"spec": {"egress": DESIRED.by_key[INTRA]["spec"]["egress"]}},
    ),
    "a first viewer": (
        VIEWERS,
        lambda live: live.update(subjects=[{"kind": "User"}]),
        "subjects changed",
        {"subjects": []},
    ),
}


@pytest.mark.parametrize("case", HARMFUL)
def test_change_of_ours_is_drift_and_is_put_back(case: str) -> None:
    key, change, difference, patch = HARMFUL[case]
    live = changed(key, change)
    assert object_drift(DESIRED.by_key[key], live) == difference
    assert repair_patch(DESIRED.by_key[key], live) == patch


def test_removed_allow_list_and_cordon_are_changes() -> None:
    """Previews, the history and `tenancy diff` show these changes."""
    spec = {"registries": ["a.test"], "cordoned": True, "displayName": "Acme"}
    before = desired_state(tenant_from_manifest({"metadata": {"name": "acme"}, "spec": spec}), read_plans())
    live = {key: as_served(manifest) for key, manifest in before.by_key.items()}
    (change,) = [change for change in object_changes(DESIRED, live) if change.kind == "Namespace"]
    assert {field.path: (field.before, field.after) for field in change.fields} == {
        "metadata.labels.tenant.platform.ai/cordoned": ("true", None),
        "metadata.annotations.policy.platform.ai/registries": ("a.test", None),
        "metadata.annotations.platform.ai/display-name": ("Acme", None),
    }


def test_missing_and_unwanted_objects_are_told_apart() -> None:
    added = {**LIVE[DENY], "metadata": {**LIVE[DENY]["metadata"], "name": "added"}}
    live = {**LIVE, object_key(added): added}
    del live[QUOTA]
    assert drift(DESIRED.by_key, live) == {QUOTA: "deleted"}
    assert unwanted(DESIRED, live) == {object_key(added): added}


def test_long_drift_is_told_briefly() -> None:
    text = drift_text(drift(DESIRED.by_key, {}))
    assert text.startswith("Namespace tenant-acme deleted; ")
    assert text.endswith(f"and {len(DESIRED.by_key) - 5} more")

"""Finds protections that are missing or changed in the cluster. No I/O."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

from tenancy.admission.manifests import admission_manifests
from tenancy.base.kinds import NAMESPACE, POLICY_BINDING, VALIDATING_POLICY
from tenancy.base.manifest import Manifest, ObjectKey, Objects, object_key
from tenancy.base.platform_names import WATCHER_USER
from tenancy.desired import DesiredState
from tenancy.drift import field_differences, object_drift
from tenancy.isolation.check import BASELINE, NAMESPACES, RESTRICTED, Layer, Protection

# The protections that are missing or changed in the cluster, with a description of the problem.
Problems = Mapping[Protection, str]

# The name of the field that selects requests, in a policy and in a binding.
_MATCH_FIELDS: Final = {VALIDATING_POLICY.kind: "matchConstraints", POLICY_BINDING.kind: "matchResources"}
# The defaults that the API server sets in this field.
_MATCH_DEFAULTS: Final = {
    "namespaceSelector": {},
    "objectSelector": {},
    "matchPolicy": "Equivalent",
    "excludeResourceRules": [],
}


@cache
def shipped_policies() -> tuple[Manifest, ...]:
    """The policies and bindings that this version of the platform installs."""
    return tuple(admission_manifests(WATCHER_USER))


def policy_problems(live: Iterable[Manifest]) -> dict[Protection, str]:
    """The admission policies that are missing or changed, with a description of the first difference.

    `live` contains the live policies and bindings.
    """
    by_key = {object_key(manifest): manifest for manifest in live}
    problems: dict[Protection, str] = {}
    for shipped in shipped_policies():
        is_binding = shipped["kind"] == POLICY_BINDING.kind
        name = shipped["spec"]["policyName"] if is_binding else shipped["metadata"]["name"]
        key = object_key(shipped)
        if problem := _policy_problem(shipped, by_key.get(key)):
            problems.setdefault(Protection(Layer.POLICY, name), f"{key} {problem}")
    return problems


def _policy_problem(shipped: Manifest, live: Manifest | None) -> str:
    """A text about the first difference between a shipped and a live policy. Empty if there is no difference.

    For example, the text is `does not exist`.
    """
    if live is None:
        return "does not exist"
    if path := next((path for path, _, _ in field_differences(shipped, live)), ""):
        return f"is changed: {path}"
    # `field_differences` ignores additional fields. But somebody could add a selector that matches no
    # requests, and so disable the policy.
    field = _MATCH_FIELDS[shipped["kind"]]
    wanted, current = shipped["spec"].get(field) or {}, live["spec"].get(field) or {}
    for name, default in _MATCH_DEFAULTS.items():
        if (wanted.get(name) or default) != (current.get(name) or default):
            return f"is changed: spec.{field}.{name}"
    return ""


def object_problems(desired: DesiredState, live: Objects) -> dict[Protection, str]:
    """The protections whose objects are missing or changed, with a description of the first difference."""
    problems: dict[Protection, str] = {}
    for key, manifest in desired.by_key.items():
        if difference := object_drift(manifest, live.get(key)):
            for protection in _protections_of(key):
                problems.setdefault(protection, f"{key} {difference}")
    return problems


def _protections_of(key: ObjectKey) -> tuple[Protection, ...]:
    if key.kind == NAMESPACE.key:
        return (NAMESPACES, BASELINE, RESTRICTED)
    return (Protection(Layer.OBJECT, f"{key.kind} {key.name}"),)

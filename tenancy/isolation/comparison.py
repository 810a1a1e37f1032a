"""Finds protections that are missing or changed in the cluster. No I/O."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

from tenancy.admission.manifests import admission_manifests
from tenancy.base.kinds import NAMESPACE, POLICY_BINDING
from tenancy.base.manifest import Manifest, ObjectKey, Objects, object_key
from tenancy.base.platform_names import WATCHER_USER
from tenancy.desired import DesiredState
from tenancy.drift import field_differences, object_drift
from tenancy.isolation.check import BASELINE, NAMESPACES, RESTRICTED, Layer, Protection

# The protections that are missing or changed in the cluster, with a description of the problem.
Problems = Mapping[Protection, str]

# The fields of policies and bindings that select requests, and the defaults that the API server sets in them.
_MATCH_FIELDS: Final = ("matchConstraints", "matchResources")
_MATCH_DEFAULTS: Final = {"namespaceSelector": {}, "objectSelector": {}, "matchPolicy": "Equivalent"}
_RULE_DEFAULTS: Final = {"scope": "*"}


@cache
def shipped_policies() -> tuple[Manifest, ...]:
    """The policies and bindings that this version of the platform installs."""
    return tuple(admission_manifests(WATCHER_USER))


def policy_problems(live: Iterable[Manifest]) -> dict[Protection, str]:
    """The admission policies that are missing or changed, with a description of the first difference.

    `live` contains the live policies and bindings.
    """
    differences = policy_differences(shipped_policies(), live)
    problems: dict[Protection, str] = {}
    for shipped in shipped_policies():
        is_binding = shipped["kind"] == POLICY_BINDING.kind
        name = shipped["spec"]["policyName"] if is_binding else shipped["metadata"]["name"]
        key = object_key(shipped)
        if key in differences:
            problem = f"is changed: {differences[key]}" if differences[key] else "does not exist"
            problems.setdefault(Protection(Layer.POLICY, name), f"{key} {problem}")
    return problems


def policy_differences(shipped: Iterable[Manifest], live: Iterable[Manifest]) -> dict[ObjectKey, str]:
    """The policies and bindings in `shipped` that are missing or changed in `live`.

    The value is the path of the first field that differs. It is empty if the object is missing.
    """
    by_key = {object_key(manifest): manifest for manifest in live}
    differences: dict[ObjectKey, str] = {}
    for manifest in shipped:
        key = object_key(manifest)
        if key not in by_key:
            differences[key] = ""
        elif path := _first_difference(_with_defaults(manifest), _with_defaults(by_key[key])):
            differences[key] = path
    return differences


def _first_difference(shipped: Manifest, live: Manifest) -> str:
    """The path of the first field that differs, or an empty string.

    `field_differences` ignores fields that only its second argument has. But somebody could disable a policy
    with an additional field, for example with a selector that matches no requests. So compare in both
    directions.
    """
    both = (field_differences(shipped, live), field_differences({**shipped, "spec": live["spec"]}, shipped))
    return next((path for differences in both for path, _, _ in differences), "")


def _with_defaults(manifest: Manifest) -> Manifest:
    """The policy or binding with the defaults that the API server sets in its spec."""
    spec = dict(manifest["spec"])
    for field in _MATCH_FIELDS:
        selected = {**_MATCH_DEFAULTS, **(spec.get(field) or {})}
        for rules in ("resourceRules", "excludeResourceRules"):
            selected[rules] = [{**_RULE_DEFAULTS, **rule} for rule in selected.get(rules) or ()]
        spec[field] = selected
    return {**manifest, "spec": spec}


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

"""Who may write: nobody but the platform changes what it manages, nobody writes to a cordoned tenant,
and a protected tenant stays.

Part of `admission`. What a tenant may write into its own objects is checked elsewhere.
"""

from collections.abc import Callable, Sequence
from typing import Final

from tenancy.admission.policy_builder import (
    KUBERNETES,
    TENANT_NAME,
    binding,
    check,
    policy,
    rule,
    sender_is,
    text,
)
from tenancy.base.manifest import Manifest
from tenancy.base.names import (
    CORDONED_LABEL,
    GROUP,
    GROUPS,
    ISTIO_LABEL,
    MANAGED_LABEL,
    NODE_SELECTOR_ANNOTATION,
    POLICY_PREFIX,
    PURPOSE_LABEL,
    TENANT_LABEL,
)
from tenancy.base.platform_names import INTEGRATION_NAMESPACES

# The controllers of integrations write the status, and copies, of managed objects.
_INTEGRATIONS: Final = tuple(f"system:serviceaccounts:{name}" for name in INTEGRATION_NAMESPACES)
_PREFIX: Final = "tenant.platform.ai/"
_LABELS: Final = (MANAGED_LABEL, TENANT_LABEL, PURPOSE_LABEL, CORDONED_LABEL)
_OUR_PREFIXES: Final = (_PREFIX, "kleff.io/", "platform.ai/", POLICY_PREFIX, "pod-security.kubernetes.io/")
_OUR_KEYS: Final = (ISTIO_LABEL, NODE_SELECTOR_ANNOTATION)
_WRITES: Final = ("CREATE", "UPDATE", "DELETE")


def guards(watcher: str, operators: Sequence[str]) -> list[Manifest]:
    """`watcher` is a user's name, `operators` are groups."""
    platform = sender_is([watcher, *KUBERNETES], [*operators, *_INTEGRATIONS])
    return [*_objects(platform), *_namespaces(platform), *_cordoned(platform), *_protected()]


def _objects(platform: str) -> list[Manifest]:
    name = "tenancy-managed-objects"
    made, _ = policy(
        name,
        [rule("*", "*/*", operations=_WRITES, version="*")],
        [
            check(
                f"{_is_not_managed('variables.before')} && {_is_not_managed('variables.after')}",
                text(
                    f"metadata.labels: {MANAGED_LABEL}=true is set by the platform alone, and what has it is "
                    "changed by the platform alone; change the Tenant instead"
                ),
                "Forbidden",
            ),
            check(
                f"request.operation == 'DELETE' || {_same('before', 'after', _is_tenants)}",
                text(f"metadata.labels: only the platform sets labels {_PREFIX}*"),
                "Forbidden",
            ),
        ],
        variables=_BEFORE_AND_AFTER,
        conditions={"others": f"!{platform}", "not-a-namespace": "request.resource.resource != 'namespaces'"},
    )
    # Selected by label before any CEL runs: other objects cost nothing.
    return [
        made,
        *(
            binding(f"{name}-{label.removeprefix(_PREFIX)}", name, objectSelector=_with(label))
            for label in _LABELS
        ),
    ]


def _namespaces(platform: str) -> list[Manifest]:
    """Softer: who may write namespaces may set labels and annotations there that are not ours."""
    ours = f"{', '.join(f'{prefix}*' for prefix in _OUR_PREFIXES)}, {', '.join(_OUR_KEYS)}"
    told = f"are set by the platform alone ({ours}); change the Tenant instead"
    return policy(
        "tenancy-managed-namespaces",
        [rule("", "namespaces", "namespaces/status", "namespaces/finalize", operations=_WRITES)],
        [
            check(
                f"request.operation != 'DELETE' || {_is_not_managed('variables.before')}",
                "'metadata.name: namespace ' + request.name + ' belongs to tenant ' + "
                f"variables.before[?'{TENANT_LABEL}'].orValue('') + '; delete the Tenant instead'",
                "Forbidden",
            ),
            check(
                f"request.operation == 'DELETE' || {_same('before', 'after', _is_ours)}",
                text(f"metadata.labels: in a tenant's namespace some {told}"),
                "Forbidden",
            ),
            check(
                f"request.operation != 'UPDATE' || {_same('noted_before', 'noted_after', _is_ours)}",
                text(f"metadata.annotations: in a tenant's namespace some {told}"),
                "Forbidden",
            ),
            check(
                "request.operation != 'UPDATE' || "
                "object.metadata.?ownerReferences == oldObject.metadata.?ownerReferences",
                text("metadata.ownerReferences: a tenant's namespace must not go with another object"),
                "Forbidden",
            ),
        ],
        variables={
            **_BEFORE_AND_AFTER,
            "noted_before": _map("oldObject", "annotations"),
            "noted_after": _map("object", "annotations"),
        },
        conditions={
            "others": f"!{platform}",
            "is-a-tenants": " || ".join(
                f"{_map(which, 'labels')}.exists(k, {_is_tenants('k')})" for which in ("oldObject", "object")
            ),
        },
    )


def _cordoned(platform: str) -> list[Manifest]:
    kubernetes = sender_is(["system:kube-scheduler"], ["system:serviceaccounts:kube-system", "system:nodes"])
    return policy(
        "tenancy-cordoned",
        [
            {**rule("*", "*/*", operations=_WRITES, version="*"), "scope": "Namespaced"},
            rule("", "pods/exec", "pods/attach", "pods/portforward", operations=["CONNECT"]),
        ],
        [
            check(
                "false",
                f"'metadata.namespace: tenant ' + {TENANT_NAME} + ' is cordoned, nothing can be written; '"
                " + 'who may update Tenants can set spec.cordoned: false'",
                "Forbidden",
            )
        ],
        conditions={
            "others": f"!{platform}",
            "not-kubernetes": f"!{kubernetes}",
            "may-not-uncordon": f"!authorizer.group('{GROUP}').resource('tenants').check('update').allowed()",
        },
        namespaces={"matchLabels": {CORDONED_LABEL: "true"}},
    )


def _protected() -> list[Manifest]:
    return policy(
        "tenancy-protected",
        [{**rule("", "tenants", operations=["DELETE"]), "apiGroups": list(GROUPS)}],
        [
            check(
                "!oldObject.?spec.?protected.orValue(oldObject.?status.?protected.orValue(false))",
                "'spec.protected: tenant ' + oldObject.metadata.name + ' is protected; "
                "set spec.protected: false first, then delete it'",
                "Forbidden",
            )
        ],
    )


def _map(which: str, field: str) -> str:
    return f"({which} == null ? {{}} : {which}.?metadata.?{field}.orValue({{}}))"


_BEFORE_AND_AFTER: Final = {"before": _map("oldObject", "labels"), "after": _map("object", "labels")}


def _is_not_managed(labels: str) -> str:
    return f"{labels}[?'{MANAGED_LABEL}'].orValue('') != 'true'"


def _is_tenants(key: str) -> str:
    return f"{key}.startsWith('{_PREFIX}')"


def _is_ours(key: str) -> str:
    return " || ".join(
        [*(f"{key}.startsWith('{prefix}')" for prefix in _OUR_PREFIXES), f"{key} in {list(_OUR_KEYS)}"]
    )


def _same(before: str, after: str, is_meant: Callable[[str], str]) -> str:
    """Whether the keys that are meant have the same values in both of these variables."""
    one, other = f"variables.{before}", f"variables.{after}"
    return (
        f"({other}.all(k, !({is_meant('k')}) || k in {one} && {one}[k] == {other}[k]) && "
        f"{one}.all(k, !({is_meant('k')}) || k in {other}))"
    )


def _with(label: str) -> Manifest:
    return {"matchExpressions": [{"key": label, "operator": "Exists"}]}

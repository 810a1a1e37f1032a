"""Admission policies for Tenants.

Nobody can delete a protected Tenant. Some fields of a spec can give their author rights outside the tenant.
To set or change such a field, a user needs an RBAC verb of its own on Tenants, in addition to `create` or
`update`.
"""

from typing import Final

from tenancy.admission.policy_builder import cel_string, check, policy, rule
from tenancy.base.manifest import Manifest
from tenancy.base.names import GROUPS
from tenancy.base.pulumi_signature import PULUMI_SIGNATURE, SIGNATURE_PROBLEM

# The RBAC verbs on Tenants.
RELAX_POD_SECURITY: Final = "relax-pod-security"
GRANT_ROLES: Final = "grant-roles"


def tenant_policies() -> list[Manifest]:
    return [*_deletion_protection(), *_privileged_settings()]


def _deletion_protection() -> list[Manifest]:
    return policy(
        "tenancy-protected",
        [_rule("DELETE")],
        [
            check(
                "!oldObject.?spec.?protected.orValue(oldObject.?status.?protected.orValue(false))",
                "'spec.protected: tenant ' + oldObject.metadata.name + ' is protected; "
                "set spec.protected: false first, then delete it'",
                "Forbidden",
            )
        ],
    )


def _privileged_settings() -> list[Manifest]:
    """The policy for `podSecurity`, `roles` and the signature of Pulumi's special values."""
    return policy(
        "tenancy-privileged-settings",
        [_rule("CREATE", "UPDATE")],
        [
            check(
                "variables.level in ['', 'restricted'] || "
                f"variables.level == variables.before.?podSecurity.orValue('') || {_may(RELAX_POD_SECURITY)}",
                "'spec.podSecurity: ' + variables.level + ' lets pods of the tenant control their nodes, "
                f"so you need the verb {RELAX_POD_SECURITY} on tenants; use restricted, or ask a cluster "
                "administrator'",
                "Forbidden",
            ),
            check(
                "!has(variables.after.roles) || variables.after.?roles == variables.before.?roles || "
                f"{_may(GRANT_ROLES)}",
                cel_string(
                    "spec.roles: grants rights on kinds of other projects, so you need the verb "
                    f"{GRANT_ROLES} on tenants; remove the field, or ask a cluster administrator"
                ),
                "Forbidden",
            ),
            check(
                f"!'%s'.format([variables.after]).contains('{PULUMI_SIGNATURE}')",
                cel_string(f"spec: {SIGNATURE_PROBLEM}"),
            ),
        ],
        variables={
            "before": "oldObject == null ? {} : dyn(oldObject).?spec.orValue({})",
            "after": "dyn(object).?spec.orValue({})",
            "level": "variables.after.?podSecurity.orValue('')",
        },
    )


def _rule(*operations: str) -> Manifest:
    return {**rule("", "tenants", operations=operations), "apiGroups": list(GROUPS)}


def _may(verb: str) -> str:
    """CEL: whether the sender has this verb on the Tenant."""
    return (
        "authorizer.group(request.resource.group).resource('tenants').name(object.metadata.name)"
        f".check('{verb}').allowed()"
    )

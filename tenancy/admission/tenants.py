"""Admission policies for Tenants.

Nobody can delete a protected Tenant (`spec.protected: true`). Some fields of a spec can give their author
rights outside the tenant. To set or change such a field, a user needs an additional RBAC verb on Tenants,
besides `create` or `update`. A user also needs an additional verb to write the status of Tenants.
"""

from typing import Final

from tenancy.admission.policy_builder import cel_string, check, policy, rule, sender_is
from tenancy.base.manifest import Manifest
from tenancy.base.names import GROUPS
from tenancy.base.pulumi_signature import PULUMI_SIGNATURE, SIGNATURE_PROBLEM

# The additional RBAC verbs on Tenants.
RELAX_POD_SECURITY: Final = "relax-pod-security"
GRANT_ROLES: Final = "grant-roles"
WRITE_STATUS: Final = "write-status"


def tenant_policies(watcher: str) -> list[Manifest]:
    """The policies for Tenants. `watcher` is the user name of the watcher's ServiceAccount."""
    return [*_deletion_protection(), *_privileged_settings(), *_status(watcher)]


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
    """The policy for `spec.podSecurity` and `spec.roles`.

    It also rejects a spec that contains the key which Pulumi reserves for special values.
    """
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


def _status(watcher: str) -> list[Manifest]:
    """The policy for the status of Tenants. Only the watcher and users with an additional verb can write it.

    The watcher and the web page trust the status. For example, they trust the authors of spec changes in the
    status. A cluster administrator has all verbs, and can repair a status.
    """
    return policy(
        "tenancy-status",
        [_rule("UPDATE", resource="tenants/status")],
        [
            check(
                _may(WRITE_STATUS),
                cel_string(
                    "status: only the watcher writes the status of Tenants; to repair a status by hand, you "
                    f"need the verb {WRITE_STATUS} on tenants"
                ),
                "Forbidden",
            )
        ],
        conditions={"others": f"!{sender_is([watcher])}"},
    )


def _rule(*operations: str, resource: str = "tenants") -> Manifest:
    return {**rule("", resource, operations=operations), "apiGroups": list(GROUPS)}


def _may(verb: str) -> str:
    """A CEL expression that is true if the sender has this verb on the Tenant."""
    return (
        "authorizer.group(request.resource.group).resource('tenants').name(object.metadata.name)"
        f".check('{verb}').allowed()"
    )

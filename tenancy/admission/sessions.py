"""The admission policy for AISessions: `spec.tenantRef` must name the tenant that owns the namespace.

The CRD has another rule: once the session has started, its spec cannot change.
"""

from typing import Final

from tenancy.admission.policy_builder import SPEC_IS_NEW, TENANT_NAME, check, policy, rule
from tenancy.base.kinds import AISESSION
from tenancy.base.manifest import Manifest

_TENANT_REF: Final = "object.spec.tenantRef.name"


def session_policies() -> list[Manifest]:
    """The policy for AISessions, and its binding.

    The policy applies to all namespaces. So it also rejects AISessions in namespaces that belong to no
    tenant.
    """
    owner = "(variables.tenant == '' ? 'no tenant' : 'tenant ' + variables.tenant)"
    return policy(
        "tenancy-sessions",
        [rule(AISESSION.group, AISESSION.plural)],
        [
            check(
                f"variables.tenant != '' && {_TENANT_REF} == variables.tenant",
                f"'spec.tenantRef.name: namespace ' + request.namespace + ' belongs to ' + {owner} + "
                f"', but spec.tenantRef names tenant ' + {_TENANT_REF} + "
                "'; create the AISession in a namespace of the tenant that spec.tenantRef names'",
                "Forbidden",
            )
        ],
        variables={"tenant": TENANT_NAME},
        conditions={"spec-is-new": SPEC_IS_NEW},
    )

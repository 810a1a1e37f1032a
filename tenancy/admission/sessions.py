"""Whose sessions may be where: an AISession names the tenant whose namespace it is in.

Part of `admission`. That its spec stays as it began is checked by the CRD itself.
"""

from typing import Final

from tenancy.admission.policy_builder import SPEC_IS_NEW, TENANT_NAME, check, policy, rule
from tenancy.base.kinds import AISESSION
from tenancy.base.manifest import Manifest

_NAMED: Final = "object.spec.tenantRef.name"


def session_policies() -> list[Manifest]:
    """In every namespace: one that is no tenant's has no sessions at all."""
    whose = "(variables.tenant == '' ? 'no tenant' : 'tenant ' + variables.tenant)"
    return policy(
        "tenancy-sessions",
        [rule(AISESSION.group, AISESSION.plural)],
        [
            check(
                f"variables.tenant != '' && {_NAMED} == variables.tenant",
                f"'spec.tenantRef.name: namespace ' + request.namespace + ' belongs to ' + {whose} + "
                f"', not to tenant ' + {_NAMED}",
                "Forbidden",
            )
        ],
        variables={"tenant": TENANT_NAME},
        conditions={"spec-is-new": SPEC_IS_NEW},
    )

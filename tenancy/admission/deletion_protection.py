"""The admission policy for protected Tenants: nobody may delete them."""

from tenancy.admission.policy_builder import check, policy, rule
from tenancy.base.manifest import Manifest
from tenancy.base.names import GROUPS


def deletion_protection_policies() -> list[Manifest]:
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

"""Admission policy for the annotation that names the user who deletes a Tenant.

`tenancy.history.deleted_tenant` describes the annotation. The policy rejects an annotation that names a user
other than the sender of the request. It ignores an annotation with the uid of another Tenant, such as the
annotation in a restored backup.
"""

from typing import Final

from tenancy.admission.policy_builder import cel_string, check, policy, rule
from tenancy.base.labels import DELETER_ANNOTATION
from tenancy.base.manifest import Manifest
from tenancy.base.names import GROUPS
from tenancy.history.deleted_tenant import SEPARATOR

_FIELD: Final = f"metadata.annotations[{DELETER_ANNOTATION}]"
_USER: Final = "request.userInfo.username"


def deleter_policies() -> list[Manifest]:
    return policy(
        "tenancy-deleter",
        [{**rule("", "tenants"), "apiGroups": list(GROUPS), "operations": ["UPDATE"]}],
        [
            check(
                "variables.annotation == variables.before || "
                "!variables.annotation.startsWith(variables.start) || "
                f"variables.annotation == variables.start + {_USER}",
                f"{cel_string(f'{_FIELD}: must name the sender of the request, ')} + {_USER}",
                "Forbidden",
            )
        ],
        variables={
            "annotation": _annotation("object"),
            "before": _annotation("oldObject"),
            "start": f"object.metadata.uid + {cel_string(SEPARATOR)}",
        },
    )


def _annotation(version: str) -> str:
    """A CEL expression that returns the annotation of `object` or `oldObject`, or an empty string."""
    return f"{version}.metadata.?annotations[?{cel_string(DELETER_ANNOTATION)}].orValue('')"

"""Keeps the Tenants' CRDs from being deleted while there are Tenants, by `pulumi destroy` or by `kubectl`.

Part of the platform's manifests. An annotation on the CRD lets it go all the same. It takes the API server up
to half a minute to know a new kind: until then a CRD is refused to go, tenants or not.
"""

from typing import Final

from tenancy.base.kinds import CRD, TENANTS, Kind
from tenancy.base.manifest import Manifest

ALLOW_DELETE_ANNOTATION: Final = "platform.ai/allow-delete"

_POLICY_API: Final = "admissionregistration.k8s.io/v1"
_CRDS: Final = [kind.crd for kind in TENANTS]


def crd_guard() -> list[Manifest]:
    guards = (_guard(kind, is_strict) for kind in TENANTS for is_strict in (True, False))
    return [manifest for guard in guards for manifest in guard]


def _guard(kind: Kind, is_strict: bool) -> list[Manifest]:
    """The strict one guards the kind's own CRD, and refuses where it cannot tell.

    The other one guards both CRDs, so that both can go or none, also where a whole collection is deleted, by
    a request that names no object. It must not hold a CRD for ever because the other is gone: where it
    cannot tell, the kind is not served.
    """
    metadata = {"name": f"tenancy-{'keep' if is_strict else 'keep-all'}-{kind.crd}"}
    names = {"resourceNames": [kind.crd]} if is_strict else {}
    policy = {
        "apiVersion": _POLICY_API,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": metadata,
        "spec": {
            "failurePolicy": "Fail" if is_strict else "Ignore",
            "paramKind": {"apiVersion": kind.api_version, "kind": kind.kind},
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [CRD.group],
                        "apiVersions": ["*"],
                        "operations": ["DELETE"],
                        "resources": [CRD.plural],
                        **names,
                    }
                ]
            },
            "matchConditions": [{"name": "tenants-crd", "expression": f"oldObject.metadata.name in {_CRDS}"}],
            "validations": [
                {
                    "expression": f"oldObject.metadata.?annotations['{ALLOW_DELETE_ANNOTATION}']"
                    ".orValue('') == 'true'",
                    "messageExpression": _message(kind),
                }
            ],
        },
    }
    binding = {
        "apiVersion": _POLICY_API,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": metadata,
        "spec": {
            "policyName": metadata["name"],
            "validationActions": ["Deny"],
            # Judged once for each Tenant there is.
            "paramRef": {"selector": {}, "parameterNotFoundAction": "Allow"},
        },
    }
    return [policy, binding]


def _message(kind: Kind) -> str:
    annotate = f"kubectl annotate crd {' '.join(_CRDS)} {ALLOW_DELETE_ANNOTATION}=true"
    return (
        f"'there is still the Tenant ' + params.metadata.name + ': delete the tenants first (kubectl delete "
        f"{kind.crd} --all); to remove the platform and leave their namespaces as they are: {annotate}'"
    )

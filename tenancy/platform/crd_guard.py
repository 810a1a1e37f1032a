"""Admission policies that reject the deletion of the CRDs of Tenants while Tenants exist.

The policies apply to all clients, such as `pulumi destroy` and `kubectl delete`. The annotation
`platform.ai/allow-delete` on the CRD allows the deletion.

Tenants are the parameters of the policies (`paramKind`). After a CRD is created, the API server needs up to
half a minute until it can read Tenants as parameters. Until then, the API server rejects the deletion of the
CRD, even if no Tenants exist.
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
    """A policy and its binding. The policy rejects the deletion of a CRD while Tenants of this kind exist.

    If `is_strict` is true, the policy applies only to the CRD of this kind. If the API server cannot list
    Tenants of this kind, the policy rejects the deletion.

    If `is_strict` is false, the policy applies to the CRDs of both Tenant kinds. While Tenants of this kind
    exist, neither of the CRDs can be deleted. The policy also applies to a request that deletes all CRDs at
    once. The strict policy does not match such a request, because the request names no object.

    If the CRD of this kind has already been deleted, the API server cannot list Tenants of this kind. In this
    case, the policy with `is_strict=False` allows the deletion of the CRD of the other Tenant kind.
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
            # The empty selector matches all Tenants. The API server evaluates the policy for each Tenant.
            "paramRef": {"selector": {}, "parameterNotFoundAction": "Allow"},
        },
    }
    return [policy, binding]


def _message(kind: Kind) -> str:
    annotate = f"kubectl annotate crd {' '.join(_CRDS)} {ALLOW_DELETE_ANNOTATION}=true"
    return (
        f"'Tenant ' + params.metadata.name + ' still exists: delete all Tenants first (kubectl delete "
        f"{kind.crd} --all); to remove the platform but keep the namespaces of its tenants, run: {annotate}'"
    )

"""The admission policy for cordoned tenants (`spec.cordoned: true`).

The policy rejects write requests in the namespaces of these tenants. It does not apply to the platform, to
Kubernetes components, or to users who may update Tenants.
"""

from typing import Final

from tenancy.admission.policy_builder import TENANT_NAME, WRITES, check, policy, rule, sender_is
from tenancy.base.labels import CORDONED_LABEL
from tenancy.base.manifest import Manifest
from tenancy.base.names import GROUPS

_CONNECTIONS: Final = ("pods/exec", "pods/attach", "pods/portforward", "pods/proxy", "services/proxy")


def cordon_policies(is_platform: str) -> list[Manifest]:
    kubernetes = sender_is(["system:kube-scheduler"], ["system:serviceaccounts:kube-system", "system:nodes"])
    return policy(
        "tenancy-cordoned",
        [
            {**rule("*", "*/*", operations=WRITES, version="*"), "scope": "Namespaced"},
            rule("", *_CONNECTIONS, operations=["CONNECT"]),
        ],
        [
            check(
                "false",
                f"'metadata.namespace: tenant ' + {TENANT_NAME} + ' is cordoned, so its users cannot write; '"
                " + 'ask somebody who may update Tenants to set spec.cordoned: false'",
                "Forbidden",
            )
        ],
        conditions={
            "others": f"!{is_platform}",
            "not-kubernetes": f"!{kubernetes}",
            **{f"may-not-uncordon-{index}": _may_not_update(group) for index, group in enumerate(GROUPS)},
        },
        namespaces={"matchLabels": {CORDONED_LABEL: "true"}},
    )


def _may_not_update(group: str) -> str:
    """A CEL expression that is true if the sender lacks the right to update the Tenants of this API group."""
    return f"!authorizer.group('{group}').resource('tenants').check('update').allowed()"

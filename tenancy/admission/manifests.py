"""Manifests of all admission policies and their bindings.

The API server evaluates the policies itself, so they do not depend on the availability of a webhook. Each
module of this package defines one group of policies:

- `write_protection` restricts who may write.
- `sessions` restricts which AISessions a namespace accepts.
- `network` and `endpoints` restrict traffic into and out of a tenant's namespaces.
- `workloads` restricts pods and PersistentVolumeClaims.
"""

from collections.abc import Sequence
from typing import Final

from tenancy.admission.endpoints import endpoint_policies
from tenancy.admission.network import network_policies
from tenancy.admission.sessions import session_policies
from tenancy.admission.workloads import workload_policies
from tenancy.admission.write_protection import write_protection_policies
from tenancy.base.manifest import Manifest

# Members of these groups may run `pulumi up` by hand, so the policies let them change managed objects.
OPERATOR_GROUPS: Final = ("system:masters", "tenancy:operators")


def admission_manifests(watcher: str, operators: Sequence[str] = OPERATOR_GROUPS) -> list[Manifest]:
    """Every policy, followed by its bindings.

    `watcher` is the user name of the watcher's ServiceAccount. `operators` are the names of operator groups.
    """
    return [
        *write_protection_policies(watcher, operators),
        *session_policies(),
        *network_policies(),
        *endpoint_policies(),
        *workload_policies(),
    ]

"""Manifests of all admission policies and their bindings.

The API server evaluates the policies itself, so they need no webhook. These modules define the policies:

- `managed_objects` and `cordon` restrict who may create, change or delete objects.
- `tenants` restricts the deletion of Tenants, and who may set some of their fields.
- `spec_author` checks which user a Tenant names as the author of its spec, and `deleter` checks which user it
  names as the user who deletes it.
- `sessions` restricts which AISessions a namespace accepts.
- `network`, `endpoints` and `annotations` restrict objects that route or allow traffic.
- `identities` restricts ServiceAccounts and RoleBindings.
- `sizes` restricts the size of objects, and who writes Events.
- `pod_lifecycle` restricts the status and the grace period of pods.
- `scheduling` restricts the nodes on which pods run.
- `workloads` restricts pods and PersistentVolumeClaims.
"""

from collections.abc import Sequence
from typing import Final

from tenancy.admission.annotations import annotation_policies
from tenancy.admission.cordon import cordon_policies
from tenancy.admission.deleter import deleter_policies
from tenancy.admission.endpoints import endpoint_policies
from tenancy.admission.identities import identity_policies
from tenancy.admission.managed_objects import managed_object_policies
from tenancy.admission.network import network_policies
from tenancy.admission.pod_lifecycle import pod_lifecycle_policies
from tenancy.admission.policy_builder import KUBERNETES, sender_is
from tenancy.admission.scheduling import scheduling_policies
from tenancy.admission.sessions import session_policies
from tenancy.admission.sizes import size_policies
from tenancy.admission.spec_author import spec_author_policies
from tenancy.admission.tenants import tenant_policies
from tenancy.admission.workloads import workload_policies
from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import INTEGRATION_NAMESPACES

# Members of these groups may run `pulumi up` by hand, so the policies let them change managed objects.
OPERATOR_GROUPS: Final = ("system:masters", "tenancy:operators")
# The controllers of integrations, such as HNC. They write the status of managed objects, and create copies of
# managed objects.
_INTEGRATION_GROUPS: Final = tuple(f"system:serviceaccounts:{name}" for name in INTEGRATION_NAMESPACES)


def admission_manifests(watcher: str, operators: Sequence[str] = OPERATOR_GROUPS) -> list[Manifest]:
    """Every policy, followed by its bindings.

    `watcher` is the user name of the watcher's ServiceAccount. `operators` are the names of user groups.
    Their members may change managed objects.
    """
    is_platform = sender_is([watcher, *KUBERNETES], [*operators, *_INTEGRATION_GROUPS])
    return [
        *managed_object_policies(is_platform),
        *cordon_policies(is_platform),
        *tenant_policies(),
        *spec_author_policies(),
        *deleter_policies(),
        *session_policies(is_platform),
        *network_policies(),
        *endpoint_policies(),
        *annotation_policies(),
        *identity_policies(is_platform),
        *size_policies(is_platform),
        *pod_lifecycle_policies(),
        *scheduling_policies(),
        # The tests wait for this policy, because it is created last.
        *workload_policies(),
    ]

"""Manifests of all admission policies and their bindings.

The API server evaluates the policies itself, so they need no webhook. These modules define the policies:

- `managed_objects` and `cordon` restrict who may create, change or delete objects.
- `tenants` restricts the deletion of Tenants, and who may write some of their fields and their status.
- `spec_author` checks the annotation of a Tenant that names the author of the spec.
- `deleter` checks the annotation of a Tenant that names the user who deletes the Tenant.
- `sessions` restricts which AISessions a namespace accepts.
- The modules in `traffic` restrict objects that route or allow traffic.
- `identities` restricts ServiceAccounts and RoleBindings.
- `sizes` restricts the size of objects, and who writes Events.
- `pod_lifecycle` restricts the grace period of pods, and who writes the status of pods and some other kinds.
- `scheduling` restricts the nodes on which pods run.
- `workloads` restricts pods, PodDisruptionBudgets and PersistentVolumeClaims.
- `watcher_limits` restricts the watcher itself.
"""

from collections.abc import Sequence
from typing import Final

from tenancy.admission.cordon import cordon_policies
from tenancy.admission.deleter import deleter_policies
from tenancy.admission.identities import identity_policies
from tenancy.admission.managed_objects import managed_object_policies
from tenancy.admission.pod_lifecycle import pod_lifecycle_policies
from tenancy.admission.policy_builder import KUBERNETES, holds_everywhere, sender_is
from tenancy.admission.scheduling import scheduling_policies
from tenancy.admission.sessions import session_policies
from tenancy.admission.sizes import size_policies
from tenancy.admission.spec_author import spec_author_policies
from tenancy.admission.tenants import tenant_policies
from tenancy.admission.traffic.annotations import annotation_policies
from tenancy.admission.traffic.endpoints import endpoint_policies
from tenancy.admission.traffic.gateway_api import gateway_api_policies
from tenancy.admission.traffic.istio import istio_policies
from tenancy.admission.traffic.services import network_policies
from tenancy.admission.watcher_limits.namespaces import watcher_namespace_policies
from tenancy.admission.watcher_limits.objects import watcher_object_policies
from tenancy.admission.workloads import workload_policies
from tenancy.base.manifest import Manifest

# Members of these groups may run `pulumi up` by hand, so the policies let them change managed objects.
OPERATOR_GROUPS: Final = ("system:masters", "tenancy:operators")
# The keys are the ServiceAccounts of the integrations' controllers. Each value is the API group and the
# resource of a kind that the controller writes. The policies let these controllers write managed objects,
# because the controllers write the status of managed objects and create copies of managed objects.
_INTEGRATIONS: Final = {
    "system:serviceaccount:gatekeeper-system:gatekeeper-admin": (
        *("constraints.gatekeeper.sh", "tenantimageregistries"),
    ),
    "system:serviceaccount:hnc-system:default": ("hnc.x-k8s.io", "hierarchyconfigurations"),
    "system:serviceaccount:istio-system:istiod": ("networking.istio.io", "workloadentries"),
}


def admission_manifests(watcher: str, operators: Sequence[str] = OPERATOR_GROUPS) -> list[Manifest]:
    """Every policy, followed by its bindings.

    `watcher` is the user name of the watcher's ServiceAccount. `operators` are groups of users who may change
    managed objects.
    """
    is_platform = f"({sender_is([watcher, *KUBERNETES], operators)} || {_is_integration()})"
    return [
        *managed_object_policies(is_platform),
        *cordon_policies(is_platform),
        *tenant_policies(watcher),
        *spec_author_policies(),
        *deleter_policies(),
        *session_policies(is_platform),
        *network_policies(),
        *gateway_api_policies(),
        *istio_policies(is_platform),
        *endpoint_policies(),
        *annotation_policies(),
        *identity_policies(is_platform),
        *size_policies(is_platform),
        *pod_lifecycle_policies(),
        *scheduling_policies(),
        *watcher_namespace_policies(watcher),
        *watcher_object_policies(watcher),
        # Keep these policies last. The tests wait only until the last policies are in effect.
        *workload_policies(),
    ]


def _is_integration() -> str:
    """A CEL expression that is true if the sender is the controller of an installed integration.

    If an integration is not installed, anybody who may create namespaces could create a ServiceAccount with
    the name of the controller's ServiceAccount. So the sender must also have the right to update the
    controller's own kind in all namespaces.
    """
    return " || ".join(
        f"request.userInfo.username == '{account}' && {holds_everywhere(group, resource, 'update')}"
        for account, (group, resource) in _INTEGRATIONS.items()
    )

"""Admission policies for the kinds of Istio that change the routes of a mesh.

The gateways and sidecars of other namespaces use these objects too. So an object could redirect the traffic
for hosts of other tenants. The pods of an Istio gateway can connect to the pods of every tenant in the mesh.
So an object could also make the gateway send requests to the pods of other tenants.
"""

from typing import Final

from tenancy.admission.policy_builder import SPEC_IS_NEW, TENANT_NAMESPACES, cel_string, check, policy, rule
from tenancy.admission.traffic.endpoints import ADDRESS_VARIABLES, CLUSTER_PARAMETERS, address_checks
from tenancy.admission.traffic.hosts import HOSTS, IS_OWN_HOST, host_checks
from tenancy.base.manifest import Manifest

ISTIO_GROUP: Final = "networking.istio.io"
# CEL: whether host `h` is one of the tenant's hosts, or a Service in the namespace of the object. Istio
# searches a name without dots in the namespace of the object.
_IS_OWN_SERVICE: Final = (
    "!h.contains('*') && (!h.contains('.') && h != '' || "
    "h.endsWith('.' + request.namespace + '.svc.cluster.local'))"
)
_IS_OWN_HOST_OR_SERVICE: Final = f"{_IS_OWN_SERVICE} || {IS_OWN_HOST}"
_DESTINATIONS: Final = "r.?route.orValue([]).map(d, d.?destination.?host.orValue(''))"
# CEL: the destinations of rule `r`, for each list of rules in a VirtualService.
_DESTINATIONS_BY_LIST: Final = {
    "http": f"{_DESTINATIONS} + r.?mirrors.orValue([]).map(m, m.?destination.?host.orValue('')) + "
    "(has(r.mirror) ? [r.mirror.?host.orValue('')] : [])",
    "tcp": _DESTINATIONS,
    "tls": _DESTINATIONS,
}


def istio_policies(is_platform: str) -> list[Manifest]:
    """The policies for Istio's kinds.

    `is_platform` is a CEL expression. If it is true for a request, the policies do not check the request. It
    must be true for requests of Istio's control plane, which creates WorkloadEntries for virtual machines.
    """
    return [
        manifest
        for name, (resource, checks) in _CHECKS.items()
        for manifest in policy(
            name,
            [rule(ISTIO_GROUP, resource, version="*")],
            checks,
            variables={**HOSTS, **ADDRESS_VARIABLES},
            conditions={"others": f"!{is_platform}", "spec-is-new": SPEC_IS_NEW},
            namespaces=TENANT_NAMESPACES,
            **CLUSTER_PARAMETERS,
        )
    ]


def _virtual_services() -> list[Manifest]:
    return [
        *host_checks("spec.hosts", "object.spec.?hosts.orValue([])", _IS_OWN_HOST_OR_SERVICE),
        *(
            check(
                f"object.spec.?{rules}.orValue([]).all(r, ({destinations}).all(h, "
                f"{_IS_OWN_HOST_OR_SERVICE}))",
                cel_string(
                    f"spec.{rules}[]: a destination must be a Service in the namespace of the "
                    "VirtualService, or one of the tenant's hosts"
                ),
            )
            for rules, destinations in _DESTINATIONS_BY_LIST.items()
        ),
        check(
            "object.spec.?http.orValue([]).all(r, "
            "r.?delegate.?namespace.orValue(request.namespace) == request.namespace)",
            cel_string("spec.http[].delegate.namespace: must be the namespace of the VirtualService"),
        ),
    ]


def _destination_rules() -> list[Manifest]:
    return host_checks("spec.host", "[object.spec.?host.orValue('')]", _IS_OWN_HOST_OR_SERVICE)


def _service_entries() -> list[Manifest]:
    """The checks of ServiceEntries.

    `exportTo` must be `["."]`, so that gateways and other namespaces do not use the entry. Istio's ambient
    mode ignores this field, so there are also checks of the hosts and the addresses.
    """
    fixed = "object.spec.?addresses.orValue([]).all(a, IS_ALLOWED)"
    endpoints = "object.spec.?endpoints.orValue([]).all(e, [e.?address.orValue('')].all(a, IS_ALLOWED))"
    return [
        *host_checks("spec.hosts", "object.spec.?hosts.orValue([])"),
        check(
            "object.spec.?exportTo.orValue([]) == ['.']",
            cel_string("spec.exportTo: must be ['.'], so that only your own namespace uses the entry"),
        ),
        *address_checks("spec.addresses", fixed),
        *address_checks("spec.endpoints[].address", endpoints),
    ]


def _workload_entries() -> list[Manifest]:
    return address_checks("spec.address", "[object.spec.?address.orValue('')].all(a, IS_ALLOWED)")


_CHECKS: Final = {
    "tenancy-virtual-services": ("virtualservices", _virtual_services()),
    "tenancy-destination-rules": ("destinationrules", _destination_rules()),
    "tenancy-service-entries": ("serviceentries", _service_entries()),
    "tenancy-workload-entries": ("workloadentries", _workload_entries()),
}

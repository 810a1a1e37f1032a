"""What may lead into and out of a tenant: Services, hosts, NetworkPolicies and endpoints.

Part of `admission`. The walls themselves are the managed NetworkPolicies; here tenants are kept from
opening them or leading around them.
"""

from typing import Final

from tenancy.admission.policy_builder import (
    ANNOTATIONS,
    KUBERNETES,
    SPEC_IS_NEW,
    TENANT_NAME,
    TENANT_NAMESPACES,
    check,
    items_of,
    list_check,
    policy,
    rule,
    sender_is,
    text,
    told_list,
)
from tenancy.base.manifest import Manifest
from tenancy.base.names import MANAGED_LABEL, TENANT_LABEL
from tenancy.objects.policy_annotations import (
    EGRESS_NETWORKS,
    GATEWAY_CLASSES,
    HOSTNAMES,
    INGRESS_CLASSES,
    SERVICE_TYPES,
)

_GATEWAY_GROUP: Final = "gateway.networking.k8s.io"
_OLD_INGRESS_CLASS: Final = "kubernetes.io/ingress.class"
_HOSTS: Final = {**ANNOTATIONS, "hostnames": items_of(HOSTNAMES)}
_IS_OWN_HOST: Final = (
    "!h.startsWith('*') && "
    "variables.hostnames.exists(e, e.startsWith('*.') ? h.endsWith(e.substring(1)) : h == e)"
)
_NETWORKS: Final = {**ANNOTATIONS, "networks": items_of(EGRESS_NETWORKS)}
_IS_INSIDE: Final = "isIP(a) && variables.networks.exists(n, cidr(n).containsIP(a))"
_TOLD_NETWORKS: Final = f"must lie inside the tenant\\'s networks' + {told_list(EGRESS_NETWORKS)}"


def network_policies() -> list[Manifest]:
    return [*_services(), *_ingresses(), *_gateways(), *_routes(), *_tenants_policies(), *_endpoints()]


def _services() -> list[Manifest]:
    return policy(
        "tenancy-services",
        [rule("", "services")],
        [
            check(
                "object.spec.type != 'NodePort'",
                text("spec.type: NodePort is never allowed for a tenant; use ClusterIP and an Ingress"),
            ),
            check(
                "object.spec.?externalIPs.orValue([]).size() == 0",
                text("spec.externalIPs: not allowed for a tenant; leave it out"),
            ),
            # The cluster's DNS follows such a name without asking who may know it.
            check(
                "!object.spec.?externalName.orValue('').lowerAscii().matches('(^|[.])cluster[.]local[.]?$')",
                text("spec.externalName: must not be a name inside the cluster; use that name itself"),
            ),
            list_check("spec.type", "object.spec.type", SERVICE_TYPES),
            check(
                "object.spec.type != 'LoadBalancer' || "
                "!object.spec.?allocateLoadBalancerNodePorts.orValue(true) && "
                "object.spec.?ports.orValue([]).all(p, p.?nodePort.orValue(0) == 0)",
                text("spec.allocateLoadBalancerNodePorts: must be false, and no port may name a nodePort"),
            ),
        ],
        variables=ANNOTATIONS,
        conditions={"spec-is-new": SPEC_IS_NEW},
        namespaces=TENANT_NAMESPACES,
    )


def _ingresses() -> list[Manifest]:
    annotations = "metadata.?annotations.orValue({})"
    old_class = list_check("metadata.annotations", "variables.old_class", INGRESS_CLASSES)
    return policy(
        "tenancy-ingresses",
        [rule("networking.k8s.io", "ingresses")],
        [
            list_check("spec.ingressClassName", "variables.class", INGRESS_CLASSES),
            {**old_class, "expression": f"variables.old_class == '' || {old_class['expression']}"},
            check(
                "!has(object.spec.defaultBackend) && object.spec.?rules.orValue([]).size() > 0",
                text("spec.defaultBackend: would answer for every host; name your hosts in spec.rules"),
            ),
            *_host_checks("spec.rules[].host"),
            check(
                f"object.spec.?tls.orValue([]).all(t, t.?hosts.orValue([]).all(h, {_IS_OWN_HOST}))",
                f"'spec.tls[].hosts: holds a host this tenant may not use' + {told_list(HOSTNAMES)}",
            ),
            check(
                f"object.{annotations}.all(k, !k.endsWith('/server-alias') && !k.endsWith('-snippet') && "
                "!k.startsWith('external-dns.alpha.kubernetes.io/'))",
                text(
                    "metadata.annotations: server-alias, snippets and external-dns could take other hosts; "
                    "name yours in spec.rules"
                ),
            ),
        ],
        variables={
            **_HOSTS,
            "old_class": f"object.metadata.?annotations[?'{_OLD_INGRESS_CLASS}'].orValue('')",
            "class": "object.spec.?ingressClassName.orValue(variables.old_class)",
            "hosts": "object.spec.?rules.orValue([]).map(r, r.?host.orValue(''))",
        },
        conditions={"is-new": f"{SPEC_IS_NEW} || object.{annotations} != oldObject.{annotations}"},
        namespaces=TENANT_NAMESPACES,
    )


def _gateways() -> list[Manifest]:
    return policy(
        "tenancy-gateways",
        [rule(_GATEWAY_GROUP, "gateways", version="*")],
        [
            list_check("spec.gatewayClassName", "object.spec.gatewayClassName", GATEWAY_CLASSES),
            *_host_checks("spec.listeners[].hostname"),
        ],
        variables={**_HOSTS, "hosts": "object.spec.?listeners.orValue([]).map(l, l.?hostname.orValue(''))"},
        conditions={"spec-is-new": SPEC_IS_NEW},
        namespaces=TENANT_NAMESPACES,
    )


def _routes() -> list[Manifest]:
    """A route that names no host answers for all the hosts of its gateway, which may be shared."""
    return policy(
        "tenancy-routes",
        [rule(_GATEWAY_GROUP, "httproutes", "grpcroutes", "tlsroutes", version="*")],
        [
            check("variables.hosts.size() > 0", text("spec.hostnames: must name the hosts of the route")),
            *_host_checks("spec.hostnames"),
        ],
        variables={**_HOSTS, "hosts": "object.spec.?hostnames.orValue([])"},
        conditions={"spec-is-new": SPEC_IS_NEW},
        namespaces=TENANT_NAMESPACES,
    )


def _host_checks(field: str) -> list[Manifest]:
    """Checks of `variables.hosts`, which stand in this field."""
    return [
        check("variables.hosts.all(h, h != '')", text(f"{field}: must be given, or it would be every host")),
        check(
            f"variables.hosts.all(h, {_IS_OWN_HOST})",
            f"'{field}: ' + variables.hosts.filter(h, !({_IS_OWN_HOST})).join(', ') + "
            f"' is a wildcard or not one of the tenant\\'s hosts' + {told_list(HOSTNAMES)}",
        ),
    ]


def _tenants_policies() -> list[Manifest]:
    ingress, egress = ("object.spec.?ingress.orValue([])", "object.spec.?egress.orValue([])")
    is_own = (
        "(has(p.namespaceSelector) ? "
        f"p.namespaceSelector.?matchLabels[?'{TENANT_LABEL}'] == optional.of(variables.tenant) : "
        "has(p.podSelector))"
    )
    is_open = "isCIDR(p.ipBlock.cidr) && variables.networks.exists(n, cidr(n).containsCIDR(p.ipBlock.cidr))"
    own = f"'a podSelector, or a namespaceSelector with matchLabels {TENANT_LABEL}: ' + variables.tenant"
    return policy(
        "tenancy-network-policies",
        [rule("networking.k8s.io", "networkpolicies")],
        [
            check(
                f"{ingress}.all(r, r.?from.orValue([]).size() > 0)",
                text("spec.ingress[].from: must name peers, or it lets everybody in"),
            ),
            check(
                f"{ingress}.all(r, r.?from.orValue([]).all(p, !has(p.ipBlock) && {is_own}))",
                f"'spec.ingress[].from[]: a peer must be ' + {own}",
            ),
            check(
                f"{egress}.all(r, r.?to.orValue([]).size() > 0)",
                text("spec.egress[].to: must name peers, or it leads everywhere"),
            ),
            check(
                f"{egress}.all(r, r.?to.orValue([]).all(p, has(p.ipBlock) || {is_own}))",
                f"'spec.egress[].to[]: a peer must be ' + {own}",
            ),
            check(
                f"{egress}.all(r, r.?to.orValue([]).all(p, !has(p.ipBlock) || {is_open}))",
                f"'spec.egress[].to[].ipBlock: {_TOLD_NETWORKS}",
            ),
        ],
        variables={**_NETWORKS, "tenant": TENANT_NAME},
        # The managed ones are the walls; nobody but the platform can give an object this label.
        conditions={
            "spec-is-new": SPEC_IS_NEW,
            "not-managed": f"object.metadata.?labels[?'{MANAGED_LABEL}'].orValue('') != 'true'",
        },
        namespaces=TENANT_NAMESPACES,
    )


def _endpoints() -> list[Manifest]:
    both = [f"s.?{name}.orValue([]).map(a, a.ip)" for name in ("addresses", "notReadyAddresses")]
    return [
        *_addresses(
            *("", "endpoints", "subsets[].addresses"),
            f"object.?subsets.orValue([]).all(s, ({' + '.join(both)}).all(a, {_IS_INSIDE}))",
        ),
        *_addresses(
            *("discovery.k8s.io", "endpointslices", "endpoints[].addresses"),
            f"object.?endpoints.orValue([]).all(e, e.addresses.all(a, {_IS_INSIDE}))",
        ),
    ]


def _addresses(group: str, resource: str, field: str, are_inside: str) -> list[Manifest]:
    """An ingress controller sends where endpoints point, and it stands outside the tenant's walls."""
    return policy(
        f"tenancy-{resource}",
        [rule(group, resource)],
        [check(are_inside, f"'{field}: {_TOLD_NETWORKS}")],
        variables=_NETWORKS,
        conditions={"others": f"!{sender_is(KUBERNETES)}"},
        namespaces=TENANT_NAMESPACES,
    )

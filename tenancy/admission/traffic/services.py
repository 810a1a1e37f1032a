"""Admission policies for Services, Ingresses and NetworkPolicies.

The platform isolates each tenant with NetworkPolicies. The admission policies in this module reject objects
that would bypass this isolation.
"""

from typing import Final

from tenancy.admission.policy_builder import (
    ANNOTATIONS,
    SPEC_IS_NEW,
    TENANT_NAME,
    TENANT_NAMESPACES,
    allowed_suffix,
    annotation_items,
    cel_string,
    check,
    list_check,
    policy,
    rule,
)
from tenancy.admission.traffic.endpoints import MUST_BE_IN_NETWORKS, NETWORKS
from tenancy.admission.traffic.hosts import HOSTS, IS_OWN_HOST, host_checks
from tenancy.base.labels import MANAGED_LABEL, TENANT_LABEL
from tenancy.base.manifest import Manifest
from tenancy.objects.policy_annotations import (
    HOSTNAMES,
    INGRESS_CLASSES,
    LOAD_BALANCER_CLASSES,
    SERVICE_TYPES,
)

_INGRESS_CLASS_ANNOTATION: Final = "kubernetes.io/ingress.class"


def network_policies() -> list[Manifest]:
    return [*_services(), *_ingresses(), *_tenant_network_policies()]


def _services() -> list[Manifest]:
    return policy(
        "tenancy-services",
        [rule("", "services")],
        [
            check(
                "object.spec.type != 'NodePort'",
                cel_string("spec.type: NodePort is never allowed for a tenant; use ClusterIP and an Ingress"),
            ),
            check(
                "object.spec.?externalIPs.orValue([]).size() == 0",
                cel_string("spec.externalIPs: not allowed for a tenant; remove the field"),
            ),
            # CoreDNS resolves the target of an external name itself, and does not check whether the client
            # may resolve the target. So a tenant could resolve names of other tenants.
            check(
                "!object.spec.?externalName.orValue('').lowerAscii().matches('(^|[.])cluster[.]local[.]?$')",
                cel_string(
                    "spec.externalName: must not be a name inside the cluster; connect to that name directly"
                ),
            ),
            list_check("spec.type", "object.spec.type", SERVICE_TYPES),
            check(
                "object.spec.?loadBalancerIP.orValue('') == ''",
                cel_string("spec.loadBalancerIP: not allowed for a tenant; remove the field"),
            ),
            check(
                "variables.class == '' || variables.class in variables.classes",
                "'spec.loadBalancerClass: ' + variables.class + ' is not allowed for this tenant' + "
                f"{allowed_suffix(LOAD_BALANCER_CLASSES)}",
            ),
            check(
                "object.spec.type != 'LoadBalancer' || "
                "!object.spec.?allocateLoadBalancerNodePorts.orValue(true) && "
                "object.spec.?ports.orValue([]).all(p, p.?nodePort.orValue(0) == 0)",
                cel_string(
                    "spec.allocateLoadBalancerNodePorts: must be false, and no port may set a nodePort"
                ),
            ),
        ],
        variables={
            **ANNOTATIONS,
            "class": "object.spec.?loadBalancerClass.orValue('')",
            "classes": annotation_items(LOAD_BALANCER_CLASSES),
        },
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
                cel_string(
                    "spec.defaultBackend: not allowed, because it matches every host; list your hosts in "
                    "spec.rules"
                ),
            ),
            *host_checks("spec.rules[].host"),
            check(
                f"object.spec.?tls.orValue([]).all(t, t.?hosts.orValue([]).all(h, {IS_OWN_HOST}))",
                "'spec.tls[].hosts: a host is not one of the tenant\\'s hosts, or is a wildcard' + "
                f"{allowed_suffix(HOSTNAMES)}",
            ),
            check(
                f"object.{annotations}.all(k, !k.endsWith('/server-alias') && !k.endsWith('-snippet'))",
                cel_string(
                    "metadata.annotations: server-alias and snippet annotations are not allowed, because "
                    "they can claim other hosts; list your hosts in spec.rules"
                ),
            ),
        ],
        variables={
            **HOSTS,
            "old_class": f"object.metadata.?annotations[?'{_INGRESS_CLASS_ANNOTATION}'].orValue('')",
            "class": "object.spec.?ingressClassName.orValue(variables.old_class)",
            "hosts": "object.spec.?rules.orValue([]).map(r, r.?host.orValue(''))",
        },
        conditions={"is-new": f"{SPEC_IS_NEW} || object.{annotations} != oldObject.{annotations}"},
        namespaces=TENANT_NAMESPACES,
    )


def _tenant_network_policies() -> list[Manifest]:
    ingress, egress = ("object.spec.?ingress.orValue([])", "object.spec.?egress.orValue([])")
    is_own_peer = (
        "(has(p.namespaceSelector) ? "
        f"p.namespaceSelector.?matchLabels[?'{TENANT_LABEL}'] == optional.of(variables.tenant) : "
        "has(p.podSelector))"
    )
    is_open_network = (
        "isCIDR(p.ipBlock.cidr) && variables.networks.exists(n, cidr(n).containsCIDR(p.ipBlock.cidr))"
    )
    own_peers = (
        f"'a podSelector, or a namespaceSelector with matchLabels {TENANT_LABEL}: ' + variables.tenant"
    )
    return policy(
        "tenancy-network-policies",
        [rule("networking.k8s.io", "networkpolicies")],
        [
            check(
                f"{ingress}.all(r, r.?from.orValue([]).size() > 0)",
                cel_string("spec.ingress[].from: must list peers, because an empty list allows every source"),
            ),
            check(
                f"{ingress}.all(r, r.?from.orValue([]).all(p, !has(p.ipBlock) && {is_own_peer}))",
                f"'spec.ingress[].from[]: a peer must be ' + {own_peers}",
            ),
            check(
                f"{egress}.all(r, r.?to.orValue([]).size() > 0)",
                cel_string(
                    "spec.egress[].to: must list peers, because an empty list allows every destination"
                ),
            ),
            check(
                f"{egress}.all(r, r.?to.orValue([]).all(p, has(p.ipBlock) || {is_own_peer}))",
                f"'spec.egress[].to[]: a peer must be an ipBlock, ' + {own_peers}",
            ),
            check(
                f"{egress}.all(r, r.?to.orValue([]).all(p, !has(p.ipBlock) || {is_open_network}))",
                f"'spec.egress[].to[].ipBlock: {MUST_BE_IN_NETWORKS}",
            ),
        ],
        variables={**NETWORKS, "tenant": TENANT_NAME},
        # The policy does not check NetworkPolicies with the managed label. Only the platform can set this
        # label (see `managed_objects`).
        conditions={
            "spec-is-new": SPEC_IS_NEW,
            "not-managed": f"object.metadata.?labels[?'{MANAGED_LABEL}'].orValue('') != 'true'",
        },
        namespaces=TENANT_NAMESPACES,
    )

"""The admission policy for annotations that load balancers, ingress controllers and ExternalDNS read.

Such annotations can claim addresses, hosts and DNS records, or send requests to other servers. The policy
checks only annotations with the prefixes in `CONTROLLED_PREFIXES`, also if a request changes nothing else.
"""

from typing import Final

from tenancy.admission.policy_builder import (
    ANNOTATIONS,
    TENANT_NAMESPACES,
    annotation_items,
    check,
    policy,
    rule,
)
from tenancy.base.manifest import Manifest
from tenancy.objects.policy_annotations import ALLOWED_ANNOTATIONS

CONTROLLED_PREFIXES: Final = (
    "external-dns.alpha.kubernetes.io/",
    "io.cilium/",
    "kube-vip.io/",
    "lbipam.cilium.io/",
    "metallb.io/",
    "metallb.universe.tf/",
    "nginx.ingress.kubernetes.io/",
    "nginx.org/",
    "service.beta.kubernetes.io/",
)
# Annotations of ingress-nginx that affect only the requests to the tenant's own hosts and Services.
_HARMLESS: Final = [
    f"nginx.ingress.kubernetes.io/{name}"
    for name in (
        "affinity",
        "app-root",
        "backend-protocol",
        "canary",
        "canary-by-cookie",
        "canary-by-header",
        "canary-by-header-value",
        "canary-weight",
        "client-body-buffer-size",
        "cors-allow-credentials",
        "cors-allow-headers",
        "cors-allow-methods",
        "cors-allow-origin",
        "cors-expose-headers",
        "cors-max-age",
        "enable-cors",
        "force-ssl-redirect",
        "limit-connections",
        "limit-rpm",
        "limit-rps",
        "proxy-body-size",
        "proxy-buffering",
        "proxy-buffer-size",
        "proxy-connect-timeout",
        "proxy-http-version",
        "proxy-read-timeout",
        "proxy-send-timeout",
        "rewrite-target",
        "session-cookie-expires",
        "session-cookie-max-age",
        "session-cookie-name",
        "session-cookie-path",
        "session-cookie-samesite",
        "ssl-redirect",
        "upstream-hash-by",
        "use-regex",
        "whitelist-source-range",
    )
]
_GATEWAY_RESOURCES: Final = (
    "gateways",
    "grpcroutes",
    "httproutes",
    "listenersets",
    "tcproutes",
    "tlsroutes",
    "udproutes",
)
_FIELD: Final = "metadata.?annotations.orValue({})"


def annotation_policies() -> list[Manifest]:
    is_controlled = " || ".join(f"k.startsWith('{prefix}')" for prefix in CONTROLLED_PREFIXES)
    return policy(
        "tenancy-annotations",
        [
            rule("", "services"),
            rule("networking.k8s.io", "ingresses"),
            rule("gateway.networking.k8s.io", *_GATEWAY_RESOURCES, version="*"),
        ],
        [
            check(
                "variables.strange.size() == 0",
                "'metadata.annotations: ' + variables.strange.join(', ') + ' is not allowed for this tenant; "
                "remove the annotation, or ask the platform to add it to allowedAnnotations'",
            )
        ],
        variables={
            **ANNOTATIONS,
            "allowed": annotation_items(ALLOWED_ANNOTATIONS),
            "strange": f"dyn(object).{_FIELD}.map(k, k).filter(k, ({is_controlled}) && "
            f"!(k in {_HARMLESS}) && !(k in variables.allowed))",
        },
        conditions={
            "is-new": f"request.operation == 'CREATE' || object.{_FIELD} != oldObject.{_FIELD}",
        },
        namespaces=TENANT_NAMESPACES,
    )

"""The admission policy for annotations that load balancers, ingress controllers and ExternalDNS read.

Such annotations can claim addresses, hosts and DNS records, or send requests to other servers. The policy
checks only annotations with the prefixes in `CONTROLLED_PREFIXES`. It checks each request that adds or
changes such an annotation, even if the request does not change the spec.
"""

from typing import Final

from tenancy.admission.policy_builder import (
    ANNOTATIONS,
    TENANT_NAMESPACES,
    annotation_items,
    check,
    holds_everywhere,
    policy,
    rule,
)
from tenancy.admission.traffic.gateway_api import gateway_api_rules
from tenancy.admission.traffic.istio import ISTIO_GROUP
from tenancy.base.manifest import Manifest
from tenancy.objects.policy_annotations import ALLOWED_ANNOTATIONS

CONTROLLED_PREFIXES: Final = (
    "alb.ingress.kubernetes.io/",
    "external-dns.alpha.kubernetes.io/",
    "external-dns.kubernetes.io/",
    "ingress.cilium.io/",
    "io.cilium/",
    "kube-vip.io/",
    "lbipam.cilium.io/",
    "metallb.io/",
    "metallb.universe.tf/",
    "nginx.ingress.kubernetes.io/",
    "nginx.org/",
    "service.beta.kubernetes.io/",
    "service.cilium.io/",
    "traefik.ingress.kubernetes.io/",
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


# The maps of annotations that the policy checks. The keys are the paths in error messages. A controller
# copies the annotations in `infrastructure` of a Gateway to the Service that it creates for the Gateway.
_MAPS: Final = {
    "metadata.annotations": "metadata.?annotations",
    "spec.infrastructure.annotations": "?spec.?infrastructure.?annotations",
}


def annotation_policies() -> list[Manifest]:
    return policy(
        "tenancy-annotations",
        [
            rule("", "services"),
            rule("networking.k8s.io", "ingresses"),
            *gateway_api_rules(),
            rule(ISTIO_GROUP, "virtualservices", version="*"),
        ],
        [_check(field, path) for field, path in _MAPS.items()],
        variables={**ANNOTATIONS, "allowed": annotation_items(ALLOWED_ANNOTATIONS)},
        # Controllers of other projects may write such annotations.
        conditions={"others": f"!{holds_everywhere('', 'services', 'update')}"},
        namespaces=TENANT_NAMESPACES,
    )


def _check(field: str, path: str) -> Manifest:
    """A check of the annotations that the request adds or changes in one map of annotations.

    `field` is the path of the map in error messages, and `path` is the path of the map in CEL.
    """
    after = f"dyn(object).{path}.orValue({{}})"
    before = f"(oldObject == null ? dyn({{}}) : dyn(oldObject).{path}.orValue({{}}))"
    is_controlled = " || ".join(f"k.startsWith('{prefix}')" for prefix in CONTROLLED_PREFIXES)
    strange = (
        f"{after}.map(k, k).filter(k, ({is_controlled}) && {before}[?k] != {after}[?k] && "
        f"!(k in {_HARMLESS}) && !(k in variables.allowed))"
    )
    return check(
        f"{strange}.size() == 0",
        f"'{field}: ' + {strange}.join(', ') + ' is not allowed for this tenant; "
        "remove the annotation, or ask the platform to add it to allowedAnnotations'",
    )

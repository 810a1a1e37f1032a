"""Builds the requests of the checks.

By default, all protections allow the object in a request. A check changes one part of the object, so that a
protection must reject the request.
"""

from collections.abc import Mapping
from typing import Any, Final

from tenancy.base.kinds import POD, SERVICE, Kind
from tenancy.base.manifest import Manifest
from tenancy.isolation.check import PROBE, Request
from tenancy.isolation.target import Target

SECRET: Final = Kind("v1", "Secret", "secrets")
CLAIM: Final = Kind("v1", "PersistentVolumeClaim", "persistentvolumeclaims")
ENDPOINTS: Final = Kind("v1", "Endpoints", "endpoints")
ENDPOINT_SLICE: Final = Kind("discovery.k8s.io/v1", "EndpointSlice", "endpointslices")
INGRESS: Final = Kind("networking.k8s.io/v1", "Ingress", "ingresses")
GATEWAY: Final = Kind("gateway.networking.k8s.io/v1", "Gateway", "gateways")
HTTP_ROUTE: Final = Kind("gateway.networking.k8s.io/v1", "HTTPRoute", "httproutes")
LISTENER_SET: Final = Kind("gateway.networking.k8s.io/v1", "ListenerSet", "listenersets")
TCP_ROUTE: Final = Kind("gateway.networking.k8s.io/v1alpha2", "TCPRoute", "tcproutes")
VIRTUAL_SERVICE: Final = Kind("networking.istio.io/v1", "VirtualService", "virtualservices")
DESTINATION_RULE: Final = Kind("networking.istio.io/v1", "DestinationRule", "destinationrules")
SERVICE_ENTRY: Final = Kind("networking.istio.io/v1", "ServiceEntry", "serviceentries")
WORKLOAD_ENTRY: Final = Kind("networking.istio.io/v1", "WorkloadEntry", "workloadentries")
DEPLOYMENT: Final = Kind("apps/v1", "Deployment", "deployments")
REVISION: Final = Kind("apps/v1", "ControllerRevision", "controllerrevisions")
PRIORITY_CLASS: Final = Kind("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", False)
RUNTIME_CLASS: Final = Kind("node.k8s.io/v1", "RuntimeClass", "runtimeclasses", False)
PORTS: Final = [{"port": 80}]


def create(target: Target, kind: Kind, name: str = PROBE, **body: Any) -> Request:
    """A request that creates an object. `labels` and `annotations` in `body` become a part of `metadata`."""
    namespace = target.namespace if kind.is_namespaced else ""
    metadata: Manifest = {"name": name, **({"namespace": namespace} if namespace else {})}
    metadata |= {key: body.pop(key) for key in ("labels", "annotations") if key in body}
    manifest = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **body}
    return Request("create", kind, name, namespace, body=manifest)


def patch(target: Target, kind: Kind, name: str, change: Manifest, subresource: str = "") -> Request:
    """A request that changes an object with a merge patch."""
    return Request("patch", kind, name, target.namespace if kind.is_namespaced else "", subresource, change)


def delete(target: Target, kind: Kind, name: str) -> Request:
    return Request("delete", kind, name, target.namespace if kind.is_namespaced else "")


def pod_spec(target: Target, container: Mapping[str, Any] | None = None, **spec: Any) -> Manifest:
    """A pod spec that all protections of the tenant allow.

    `container` replaces fields of the container, and `spec` replaces fields of the pod spec.
    """
    settings = target.settings
    registry = f"{settings.registries[0]}/{PROBE}" if settings.registries else f"registry.invalid/{PROBE}"
    pull_policy = settings.image_pull_policies[0].value if settings.image_pull_policies else "Always"
    classes = settings.runtime_classes or ("",)
    runtime_class = {} if "" in classes else {"runtimeClassName": classes[0]}
    main = {
        "name": "main",
        "image": registry,
        "imagePullPolicy": pull_policy,
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        **(container or {}),
    }
    return {
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "nodeSelector": settings.forced_node_selector(),
        "containers": [main],
        **runtime_class,
        **spec,
    }


def pod(target: Target, container: Mapping[str, Any] | None = None, **spec: Any) -> Request:
    return create(target, POD, spec=pod_spec(target, container, **spec))


def with_security(target: Target, **context: Any) -> Request:
    """A request that creates a pod. `context` contains fields of the container's security context."""
    safe = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    return pod(target, {"securityContext": {**safe, **context}})


def service(target: Target, annotations: Mapping[str, str] | None = None, **spec: Any) -> Request:
    return create(target, SERVICE, annotations=annotations or {}, spec={"ports": PORTS, **spec})


def ingress(
    target: Target, host: str = "", annotations: Mapping[str, str] | None = None, **spec: Any
) -> Request:
    """A request that creates an Ingress for `host`.

    If `host` is empty, the Ingress uses the first host of the tenant. If the tenant has no hosts, the Ingress
    uses the host `tenancy-prove.invalid`.
    """
    own = target.hosts[0].replace("*.", "prove.") if target.hosts else f"{PROBE}.invalid"
    backend = {"service": {"name": PROBE, "port": {"number": 80}}}
    rule = {"host": host or own, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}
    allowed = target.settings.ingress_classes
    class_name = {"ingressClassName": allowed[0] if allowed else PROBE}
    return create(
        target, INGRESS, annotations=annotations or {}, spec={**class_name, "rules": [rule], **spec}
    )


def claim(target: Target, **spec: Any) -> Request:
    allowed = target.settings.storage_classes
    storage_class = {"storageClassName": allowed[0]} if allowed else {}
    resources = {"requests": {"storage": "1Mi"}}
    return create(
        target,
        CLAIM,
        spec={"accessModes": ["ReadWriteOnce"], "resources": resources, **storage_class, **spec},
    )

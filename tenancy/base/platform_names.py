"""Names of the platform's own objects: its namespaces, the watcher and the plans ConfigMap."""

from typing import Final

PLATFORM_STACK: Final = "platform"
# The stack in which a state backend records the cluster that uses the backend (`stacks.cluster_record`).
CLUSTER_STACK: Final = "cluster"
SYSTEM_NAMESPACE: Final = "tenancy-system"
# An annotation of the system namespace: the networks of the cluster's pods, Services and nodes, as CIDRs that
# are separated by commas.
CLUSTER_NETWORKS: Final = "policy.platform.ai/cluster-networks"
SHARED_NAMESPACE: Final = "platform-shared"
# The namespaces of the integrations' controllers. No tenant can adopt them.
INTEGRATION_NAMESPACES: Final = ("gatekeeper-system", "hnc-system", "istio-system")
WATCHER: Final = "tenancy-watcher"
# The user name of the watcher's ServiceAccount.
WATCHER_USER: Final = f"system:serviceaccount:{SYSTEM_NAMESPACE}:{WATCHER}"
WATCHER_LABELS: Final = {"app.kubernetes.io/name": WATCHER, "app.kubernetes.io/part-of": "tenancy"}
# Annotations of the Lease. The Lease has the name of the watcher. The first annotation contains the watchers
# that have led, and the second one the state backend of the watcher that led last.
LEADERS_ANNOTATION: Final = "platform.ai/leaders"
BACKEND_ANNOTATION: Final = "platform.ai/backend"
# The namespace in which Kubernetes stores the Events of cluster-scoped objects.
EVENT_NAMESPACE: Final = "default"

PLANS_CONFIG_MAP: Final = "tenancy-plans"
PLANS_KEY: Final = "plans.yaml"

# The ConfigMap with the configuration of CoreDNS. It must be in the namespace of CoreDNS, because a pod can
# mount only ConfigMaps of its own namespace.
COREDNS_NAMESPACE: Final = "kube-system"
COREDNS_CONFIG_MAP: Final = "tenancy-coredns"

# The port on which the watcher serves /healthz, /readyz and /metrics.
HTTP_PORT: Final = 8080
HTTP_PORT_NAME: Final = "http"

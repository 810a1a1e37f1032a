"""Names of the platform's own objects: its namespaces, the watcher and the plans ConfigMap."""

from typing import Final

PLATFORM_STACK: Final = "platform"
SYSTEM_NAMESPACE: Final = "tenancy-system"
SHARED_NAMESPACE: Final = "platform-shared"
# The namespaces of the integrations' controllers. The platform trusts the service accounts in these
# namespaces like its own service account.
INTEGRATION_NAMESPACES: Final = ("gatekeeper-system", "hnc-system", "istio-system")
WATCHER: Final = "tenancy-watcher"
# The user name of the watcher's ServiceAccount.
WATCHER_USER: Final = f"system:serviceaccount:{SYSTEM_NAMESPACE}:{WATCHER}"
WATCHER_LABELS: Final = {"app.kubernetes.io/name": WATCHER, "app.kubernetes.io/part-of": "tenancy"}
# The namespace in which Kubernetes stores the Events of cluster-scoped objects.
EVENT_NAMESPACE: Final = "default"

PLANS_CONFIG_MAP: Final = "tenancy-plans"
PLANS_KEY: Final = "plans.yaml"

# The port on which the watcher serves /healthz, /readyz and /metrics.
HTTP_PORT: Final = 8080
HTTP_PORT_NAME: Final = "http"

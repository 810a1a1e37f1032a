"""The names of what the platform itself consists of: its namespaces, its watcher, its settings.

Read by the modules that make the platform's objects, and by those who look for them.
"""

from typing import Final

PLATFORM_STACK: Final = "platform"
SYSTEM_NAMESPACE: Final = "tenancy-system"
SHARED_NAMESPACE: Final = "platform-shared"
# Where the controllers of integrations run: who runs pods there is trusted as the platform is.
INTEGRATION_NAMESPACES: Final = ("gatekeeper-system", "hnc-system", "istio-system")
WATCHER: Final = "tenancy-watcher"
WATCHER_LABELS: Final = {"app.kubernetes.io/name": WATCHER, "app.kubernetes.io/part-of": "tenancy"}
# Where Kubernetes keeps the events of objects that have no namespace.
EVENT_NAMESPACE: Final = "default"

PLANS_CONFIG_MAP: Final = "tenancy-plans"
PLANS_KEY: Final = "plans.yaml"

# The port of /healthz, /readyz and /metrics, and its name in the Service.
HTTP_PORT: Final = 8080
HTTP_PORT_NAME: Final = "http"

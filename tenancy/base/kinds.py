"""The Kubernetes kinds that the platform reads or writes, with their API paths.

The cluster serves the kinds of an integration (Gatekeeper, Istio, HNC) only if their CRDs are installed.
"""

from typing import Final, NamedTuple

from tenancy.base.manifest import Manifest, kind_key
from tenancy.base.names import GROUP, GROUPS, VERSION

RBAC_GROUP: Final = "rbac.authorization.k8s.io"
_RBAC: Final = f"{RBAC_GROUP}/v1"
_ADMISSION_GROUP: Final = "admissionregistration.k8s.io"
_ADMISSION: Final = f"{_ADMISSION_GROUP}/v1"


class Kind(NamedTuple):
    """A Kubernetes kind and its resource in the API."""

    api_version: str
    kind: str
    plural: str
    is_namespaced: bool = True

    @property
    def group(self) -> str:
        return api_group(self.api_version)

    @property
    def key(self) -> str:
        """The kind as in `ObjectKey.kind`, such as `Role` or `Gateway.networking.istio.io`.

        It includes the API group if several groups define the kind. kubectl accepts it as a resource type.
        """
        return kind_key(self.api_version, self.kind)

    @property
    def resource(self) -> str:
        """The full resource name, such as `roles.rbac.authorization.k8s.io`. kubectl accepts this name."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def crd(self) -> str:
        """The name of the CRD that defines the kind."""
        return f"{self.plural}.{self.group}"

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The API path of an object. If `name` is empty, the result is the path of the list of objects."""
        root = f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"
        namespace_part = f"/namespaces/{namespace}" if self.is_namespaced and namespace else ""
        name_part = "".join(f"/{part}" for part in (name, subresource) if part)
        return f"{root}{namespace_part}/{self.plural}{name_part}"


def api_group(api_version: str) -> str:
    """The API group in an apiVersion. It is empty for the core group."""
    return api_version.rpartition("/")[0]


NAMESPACE: Final = Kind("v1", "Namespace", "namespaces", is_namespaced=False)
NODE: Final = Kind("v1", "Node", "nodes", is_namespaced=False)
EVENT: Final = Kind("v1", "Event", "events")
CONFIG_MAP: Final = Kind("v1", "ConfigMap", "configmaps")
SERVICE_ACCOUNT: Final = Kind("v1", "ServiceAccount", "serviceaccounts")
SERVICE: Final = Kind("v1", "Service", "services")
RESOURCE_QUOTA: Final = Kind("v1", "ResourceQuota", "resourcequotas")
LIMIT_RANGE: Final = Kind("v1", "LimitRange", "limitranges")
NETWORK_POLICY: Final = Kind("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies")
DISRUPTION_BUDGET: Final = Kind("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets")
ROLE: Final = Kind(_RBAC, "Role", "roles")
ROLE_BINDING: Final = Kind(_RBAC, "RoleBinding", "rolebindings")
POD: Final = Kind("v1", "Pod", "pods")
JOB: Final = Kind("batch/v1", "Job", "jobs")
LEASE: Final = Kind("coordination.k8s.io/v1", "Lease", "leases")
STATEFUL_SET: Final = Kind("apps/v1", "StatefulSet", "statefulsets")
AISESSION: Final = Kind(f"{GROUP}/{VERSION}", "AISession", "aisessions")
CRD: Final = Kind("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", False)
# The API server returns the result of a review in the response to `create`, and does not store the review.
TOKEN_REVIEW: Final = Kind("authentication.k8s.io/v1", "TokenReview", "tokenreviews", False)
SUBJECT_ACCESS_REVIEW: Final = Kind(
    "authorization.k8s.io/v1", "SubjectAccessReview", "subjectaccessreviews", False
)
SELF_ACCESS_REVIEW: Final = Kind(
    "authorization.k8s.io/v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", False
)
SELF_SUBJECT_REVIEW: Final = Kind(
    "authentication.k8s.io/v1", "SelfSubjectReview", "selfsubjectreviews", False
)
# Served only if the cluster has a metrics server.
POD_METRICS: Final = Kind("metrics.k8s.io/v1beta1", "PodMetrics", "pods")
VALIDATING_POLICY: Final = Kind(_ADMISSION, "ValidatingAdmissionPolicy", "validatingadmissionpolicies", False)
POLICY_BINDING: Final = Kind(
    _ADMISSION, "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", False
)
TENANTS: Final = tuple(Kind(f"{group}/{VERSION}", "Tenant", "tenants", False) for group in GROUPS)
# Kinds of other projects for reports about policies. A cluster serves them only if their CRDs are installed.
REPORT_KINDS: Final = (
    Kind("openreports.io/v1alpha1", "ClusterReport", "clusterreports", False),
    Kind("wgpolicyk8s.io/v1alpha2", "ClusterPolicyReport", "clusterpolicyreports", False),
)
# The versions of MutatingAdmissionPolicy, newest first. Many API servers serve none of them.
MUTATING_POLICIES: Final = tuple(
    Kind(f"{_ADMISSION_GROUP}/{version}", "MutatingAdmissionPolicy", "mutatingadmissionpolicies", False)
    for version in ("v1", "v1beta1", "v1alpha1")
)

# The kinds of objects that every tenant has.
CORE_KINDS: Final = (NAMESPACE, ROLE, ROLE_BINDING, RESOURCE_QUOTA, LIMIT_RANGE, NETWORK_POLICY)
# The kinds that `extraResources` may use. None of them grants permissions or contains secrets.
EXTRA_KINDS: Final = (
    CONFIG_MAP,
    SERVICE_ACCOUNT,
    SERVICE,
    RESOURCE_QUOTA,
    LIMIT_RANGE,
    NETWORK_POLICY,
    DISRUPTION_BUDGET,
)
MANAGED_KINDS: Final = tuple(dict.fromkeys((*CORE_KINDS, *EXTRA_KINDS)))

# The kinds of the objects that each integration adds to a tenant.
INTEGRATION_KINDS: Final[dict[str, tuple[Kind, ...]]] = {
    "Gatekeeper": (
        Kind("constraints.gatekeeper.sh/v1beta1", "TenantImageRegistries", "tenantimageregistries", False),
        Kind("constraints.gatekeeper.sh/v1beta1", "TenantPodSecurity", "tenantpodsecurity", False),
    ),
    "Istio": (
        Kind("networking.istio.io/v1", "Gateway", "gateways"),
        Kind("networking.istio.io/v1", "Sidecar", "sidecars"),
        Kind("security.istio.io/v1", "AuthorizationPolicy", "authorizationpolicies"),
        Kind("security.istio.io/v1", "PeerAuthentication", "peerauthentications"),
    ),
    "HNC": (Kind("hnc.x-k8s.io/v1alpha2", "HierarchyConfiguration", "hierarchyconfigurations"),),
}
OPTIONAL_KINDS: Final = tuple(kind for kinds in INTEGRATION_KINDS.values() for kind in kinds)

# The kinds of objects that contain hosts of a tenant. Not every cluster serves all of these kinds.
HOST_KINDS: Final = (
    Kind("networking.k8s.io/v1", "Ingress", "ingresses"),
    *(
        Kind(f"gateway.networking.k8s.io/{version}", kind, f"{kind.lower()}s")
        for version, kind in (
            ("v1", "Gateway"),
            ("v1", "HTTPRoute"),
            ("v1", "GRPCRoute"),
            ("v1alpha2", "TLSRoute"),
            ("v1", "TLSRoute"),
        )
    ),
    Kind("networking.istio.io/v1", "Gateway", "gateways"),
    Kind("networking.istio.io/v1", "VirtualService", "virtualservices"),
)

_PLATFORM_KINDS: Final = (
    *TENANTS,
    AISESSION,
    CRD,
    EVENT,
    Kind(_RBAC, "ClusterRole", "clusterroles", False),
    Kind(_RBAC, "ClusterRoleBinding", "clusterrolebindings", False),
    VALIDATING_POLICY,
    POLICY_BINDING,
    *REPORT_KINDS,
    *MUTATING_POLICIES,
    *(
        Kind(policy.api_version, f"{policy.kind}Binding", "mutatingadmissionpolicybindings", False)
        for policy in MUTATING_POLICIES
    ),
    STATEFUL_SET,
    Kind("monitoring.coreos.com/v1", "PrometheusRule", "prometheusrules"),
    Kind("monitoring.coreos.com/v1", "ServiceMonitor", "servicemonitors"),
    Kind("templates.gatekeeper.sh/v1", "ConstraintTemplate", "constrainttemplates", False),
    Kind("hnc.x-k8s.io/v1alpha2", "HNCConfiguration", "hncconfigurations", False),
)

_KINDS: Final = {
    (kind.api_version, kind.kind): kind for kind in (*MANAGED_KINDS, *OPTIONAL_KINDS, *_PLATFORM_KINDS)
}
KIND_BY_KEY: Final = {kind.key: kind for kind in (*MANAGED_KINDS, *OPTIONAL_KINDS)}


def kind_of(manifest: Manifest) -> Kind:
    """The Kind of an object. Raises KeyError if this module does not define the kind."""
    return _KINDS[manifest["apiVersion"], manifest["kind"]]

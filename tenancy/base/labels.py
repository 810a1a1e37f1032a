"""Labels and annotations that the platform sets, label selectors, and conversion of text to label values."""

import hashlib
import re
from typing import Final

TENANT_LABEL: Final = "tenant.platform.ai/name"
MANAGED_LABEL: Final = "tenant.platform.ai/managed"
PURPOSE_LABEL: Final = "tenant.platform.ai/purpose"
USER_ID_LABEL: Final = "kleff.io/tenant-user-id"
USERNAME_LABEL: Final = "kleff.io/tenant-username"
PLAN_LABEL: Final = "kleff.io/tenant-plan"
ISTIO_LABEL: Final = "istio-injection"
SHARED_LABEL: Final = "platform.ai/shared"
CORDONED_LABEL: Final = "tenant.platform.ai/cordoned"
# A label of the Job and the pod of an AISession. Its value is the session's name, encoded with `label_value`.
SESSION_LABEL: Final = "platform.ai/session"
DISPLAY_NAME_ANNOTATION: Final = "platform.ai/display-name"
# The annotation of a Tenant that names the author of its spec. See `tenancy.history.spec_author`.
SPEC_AUTHOR_ANNOTATION: Final = "platform.ai/spec-author"
# The annotation of a Tenant that names the user who deletes it. See `tenancy.history.deleted_tenant`.
DELETER_ANNOTATION: Final = "platform.ai/deleted-by"
# Annotations that GitOps tools set on a Tenant. They describe the commit that changed the spec.
CHANGE_MESSAGE_ANNOTATION: Final = "platform.ai/change-message"
CHANGE_COMMIT_ANNOTATION: Final = "platform.ai/change-commit"
CHANGE_AUTHOR_ANNOTATION: Final = "platform.ai/change-author"
CHANGE_ANNOTATIONS: Final = (
    CHANGE_MESSAGE_ANNOTATION,
    CHANGE_COMMIT_ANNOTATION,
    CHANGE_AUTHOR_ANNOTATION,
)
# The annotation of an existing namespace that names the tenant that may adopt it.
ADOPTION_ANNOTATION: Final = "adoption.platform.ai/tenant"
# The prefix of namespace annotations that the admission policies read.
POLICY_PREFIX: Final = "policy.platform.ai/"
# If the admission plugin PodNodeSelector is enabled, the API server adds the node selector in this annotation
# to the namespace's pods.
NODE_SELECTOR_ANNOTATION: Final = "scheduler.alpha.kubernetes.io/node-selector"
# The label and the taint of dedicated nodes. A kubelet cannot set labels of this domain on its own node.
NODE_POOL_LABEL: Final = "tenancy.node-restriction.kubernetes.io/pool"
# Prefixes of the labels and annotations of tenants' namespaces that only the platform sets.
NAMESPACE_LABEL_PREFIXES: Final = (
    "tenant.platform.ai/",
    "kleff.io/",
    "pod-security.kubernetes.io/",
    ISTIO_LABEL,
)
NAMESPACE_ANNOTATION_PREFIXES: Final = (POLICY_PREFIX, "platform.ai/", "kleff.io/")

MANAGED_SELECTOR: Final = f"{MANAGED_LABEL}=true"

_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


def object_labels(tenant_name: str) -> dict[str, str]:
    """The labels of all managed objects of a tenant."""
    return {TENANT_LABEL: tenant_name, MANAGED_LABEL: "true"}


def tenant_selector(tenant_name: str) -> str:
    """The label selector that matches a tenant's managed objects."""
    return f"{MANAGED_SELECTOR},{TENANT_LABEL}={tenant_name}"


def label_value(text: str) -> str:
    """`text` as a valid label value.

    If `text` is not a valid label value, the result is a readable, shortened form of `text`, followed by a
    hash of `text`. The hash makes the result unique.
    """
    if not text or _LABEL_VALUE.fullmatch(text):
        return text
    readable_part = re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")[:48].strip("-")
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    return f"{readable_part}.{digest}" if readable_part else digest

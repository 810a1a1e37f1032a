"""Names that the platform defines: API groups, labels, annotations, the finalizer, namespaces and stacks."""

import hashlib
import re
from typing import Final

GROUP: Final = "platform.ai"
KLEFF_GROUP: Final = "kleff.kleff.io"
GROUPS: Final = (GROUP, KLEFF_GROUP)
VERSION: Final = "v1"

PROJECT: Final = "tenancy"
FINALIZER: Final = "kleff.io/namespace-finalizer"
FIELD_MANAGER: Final = "tenancy"

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
# The prefix of namespace annotations that the admission policies read.
POLICY_PREFIX: Final = "policy.platform.ai/"
# If the admission plugin PodNodeSelector is enabled, the API server adds this selector to the namespace's
# pods.
NODE_SELECTOR_ANNOTATION: Final = "scheduler.alpha.kubernetes.io/node-selector"

MANAGED_SELECTOR: Final = f"{MANAGED_LABEL}=true"

# The name of a namespace is a DNS label.
NAMESPACE_MAX_LENGTH: Final = 63
DNS_LABEL_PATTERN: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"

_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


def namespace_name(tenant_name: str, name: str | None = None) -> str:
    """The full name of a tenant's namespace. If `name` is empty, the name of the default namespace."""
    return f"tenant-{tenant_name}-{name}" if name else f"tenant-{tenant_name}"


def session_job_name(session_name: str) -> str:
    """The name of an AISession's Job.

    Kubernetes copies a Job's name into a label of its pods. A name that is too long for a label value is cut
    and gets a hash as suffix.
    """
    job_name = f"aisession-{session_name}"
    if len(job_name) <= NAMESPACE_MAX_LENGTH:
        return job_name
    digest = hashlib.sha256(session_name.encode()).hexdigest()[:12]
    return f"{job_name[: NAMESPACE_MAX_LENGTH - 13].rstrip('-.')}-{digest}"


def stack_name(tenant_name: str) -> str:
    return f"tenant-{tenant_name}"


def tenant_of_stack(stack: str) -> str:
    """The name of the tenant that a stack belongs to. This is the inverse of `stack_name`.

    Raises ValueError if the stack does not belong to a tenant.
    """
    prefix, _, tenant_name = stack.partition("-")
    if prefix != "tenant" or not tenant_name:
        raise ValueError(
            f"stack {stack!r} does not belong to a tenant: its name must be tenant-NAME, or platform"
        )
    return tenant_name


def crd_name(group: str) -> str:
    """The name of the Tenant CRD in an API group."""
    return f"tenants.{group}"


def object_labels(tenant_name: str) -> dict[str, str]:
    """The labels of all managed objects of a tenant."""
    return {TENANT_LABEL: tenant_name, MANAGED_LABEL: "true"}


def tenant_selector(tenant_name: str) -> str:
    """The label selector that matches a tenant's managed objects."""
    return f"{MANAGED_SELECTOR},{TENANT_LABEL}={tenant_name}"


def label_value(text: str) -> str:
    """`text` as a valid label value.

    If `text` is not a valid label value, the result consists of its letters and digits and a hash of `text`.
    The hash makes the result unique.
    """
    if not text or _LABEL_VALUE.fullmatch(text):
        return text
    readable_part = re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")[:48].strip("-")
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    return f"{readable_part}.{digest}" if readable_part else digest

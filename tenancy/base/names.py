"""Every name the product gives: API groups, labels, the finalizer, namespaces, stacks.

Called by all layers. It only makes names; what carries them is made elsewhere.
"""

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
# On a session's Job and pod: the session's name.
SESSION_LABEL: Final = "platform.ai/session"
DISPLAY_NAME_ANNOTATION: Final = "platform.ai/display-name"
# Before the names of the namespace's annotations that admission policies read.
POLICY_PREFIX: Final = "policy.platform.ai/"
# The API server's own plugin fills in this selector, where it is switched on.
NODE_SELECTOR_ANNOTATION: Final = "scheduler.alpha.kubernetes.io/node-selector"

MANAGED_SELECTOR: Final = f"{MANAGED_LABEL}=true"

# A namespace's name is a DNS label.
NAMESPACE_MAX_LENGTH: Final = 63
DNS_LABEL_PATTERN: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"

_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


def namespace_name(tenant: str, name: str | None = None) -> str:
    """The namespace of a tenant: its default one where no name is given."""
    return f"tenant-{tenant}-{name}" if name else f"tenant-{tenant}"


def session_job_name(session: str) -> str:
    """The Job of an AISession: no longer than the label may be that Kubernetes gives to its pods."""
    name = f"aisession-{session}"
    if len(name) <= NAMESPACE_MAX_LENGTH:
        return name
    digest = hashlib.sha256(session.encode()).hexdigest()[:12]
    return f"{name[: NAMESPACE_MAX_LENGTH - 13].rstrip('-.')}-{digest}"


def stack_name(tenant: str) -> str:
    return f"tenant-{tenant}"


def tenant_of_stack(stack: str) -> str:
    """The tenant a stack belongs to; the inverse of `stack_name`."""
    prefix, _, tenant = stack.partition("-")
    if prefix != "tenant" or not tenant:
        raise ValueError(f"stack {stack!r} is no tenant's: name it tenant-NAME, or platform")
    return tenant


def crd_name(group: str) -> str:
    return f"tenants.{group}"


def object_labels(tenant: str) -> dict[str, str]:
    """The labels by which an object is known to be the tenant's and ours."""
    return {TENANT_LABEL: tenant, MANAGED_LABEL: "true"}


def tenant_selector(tenant: str) -> str:
    """Selects what is the tenant's and ours."""
    return f"{MANAGED_SELECTOR},{TENANT_LABEL}={tenant}"


def label_value(text: str) -> str:
    """`text` as a legal label value: itself where it is one, else a readable part and a hash of the whole."""
    if not text or _LABEL_VALUE.fullmatch(text):
        return text
    readable = re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")[:48].strip("-")
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    return f"{readable}.{digest}" if readable else digest

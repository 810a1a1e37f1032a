"""Names that the platform defines: API groups, the finalizer, namespaces, Jobs and stacks."""

import hashlib
import re
from typing import Final

GROUP: Final = "platform.ai"
KLEFF_GROUP: Final = "kleff.kleff.io"
GROUPS: Final = (GROUP, KLEFF_GROUP)
VERSION: Final = "v1"

PROJECT: Final = "tenancy"
FINALIZER: Final = "kleff.io/namespace-finalizer"
# The field manager of the objects that a Pulumi stack contains.
FIELD_MANAGER: Final = "tenancy"
# The field manager of all other writes of the watcher: the status, finalizers, Events and AISessions, and the
# removal of the platform's labels from namespaces.
WATCHER_FIELD_MANAGER: Final = "tenancy-watcher"

# The name of a namespace is a DNS label.
NAMESPACE_MAX_LENGTH: Final = 63
DNS_LABEL_PATTERN: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
DNS_LABEL_TEXT: Final = "lower-case letters, digits and dashes, with a letter or digit at both ends"


def namespace_name(tenant_name: str, name: str | None = None) -> str:
    """The full name of a tenant's namespace, such as `tenant-acme-dev`.

    `name` is the namespace's name in the spec, such as `dev`. If `name` is empty, the result is the name of
    the default namespace, such as `tenant-acme`.
    """
    return f"tenant-{tenant_name}-{name}" if name else f"tenant-{tenant_name}"


TENANT_NAME_MAX_LENGTH: Final = NAMESPACE_MAX_LENGTH - len(namespace_name(""))
TENANT_NAME_LENGTH_REASON: Final = (
    f"must have at most {TENANT_NAME_MAX_LENGTH} characters, because the namespace name "
    f"{namespace_name('<tenant>')} can have at most {NAMESPACE_MAX_LENGTH}"
)


def tenant_name_problem(name: object) -> str | None:
    """The reason why a Tenant cannot have this name. None if the name is valid."""
    if name is None:
        return "is required"
    if not isinstance(name, str) or not re.fullmatch(DNS_LABEL_PATTERN, name):
        return f"is {str(name)[:80]!r}, but must have only {DNS_LABEL_TEXT}"
    if len(name) > TENANT_NAME_MAX_LENGTH:
        return f"has {len(name)} characters, but {TENANT_NAME_LENGTH_REASON}"
    return None


# Users cannot create Jobs whose names begin with this prefix (`tenancy.admission.sessions`).
SESSION_JOB_PREFIX: Final = "aisession-"


def session_job_name(session_name: str) -> str:
    """The name of an AISession's Job.

    Kubernetes copies a Job's name into a label of its pods, and a label value has at most 63 characters. A
    longer name is truncated and gets a hash as suffix.
    """
    job_name = f"{SESSION_JOB_PREFIX}{session_name}"
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
            f"stack {stack!r} has an unexpected name: use tenant-NAME for the stack of a tenant, or platform "
            "for the stack of the platform"
        )
    return tenant_name


def crd_name(group: str) -> str:
    """The name of the Tenant CRD in an API group."""
    return f"tenants.{group}"

"""Admission policies for AISessions, and for their Jobs and pods.

`spec.tenantRef` must name the tenant that owns the namespace. These policies do not check whether the spec
changes after a session has started. A rule in the CRD prevents such changes.

The watcher computes the result of a session from its Job and its pod. So users must not change these objects,
and must not run commands in the pod. A request that runs a command in a pod contains the name of the pod, but
not its labels. So the policies identify these Jobs and pods by a reserved prefix of their names.
"""

from typing import Final

from tenancy.admission.policy_builder import (
    SPEC_IS_NEW,
    SYSTEM,
    TENANT_NAME,
    TENANT_NAMESPACES,
    check,
    holds_everywhere,
    policy,
    rule,
)
from tenancy.base.kinds import AISESSION
from tenancy.base.manifest import Manifest
from tenancy.base.names import SESSION_JOB_PREFIX

_TENANT_REF: Final = "object.spec.tenantRef.name"


def session_policies(is_platform: str) -> list[Manifest]:
    """The policies for AISessions, their Jobs and their pods.

    `is_platform` is a CEL expression. It is true if the sender may change managed objects.
    """
    return [*_sessions(), *_session_jobs(is_platform), *_session_pods(is_platform)]


def _sessions() -> list[Manifest]:
    """The policy for AISessions, and its binding.

    The policy applies to all namespaces. So it also rejects AISessions in namespaces that belong to no
    tenant.
    """
    owner = "(variables.tenant == '' ? 'no tenant' : 'tenant ' + variables.tenant)"
    return policy(
        "tenancy-sessions",
        [rule(AISESSION.group, AISESSION.plural)],
        [
            check(
                f"variables.tenant != '' && {_TENANT_REF} == variables.tenant",
                f"'spec.tenantRef.name: namespace ' + request.namespace + ' belongs to ' + {owner} + "
                f"', but spec.tenantRef names tenant ' + {_TENANT_REF} + "
                "'; create the AISession in a namespace of the tenant that spec.tenantRef names'",
                "Forbidden",
            )
        ],
        variables={"tenant": TENANT_NAME},
        conditions={"spec-is-new": SPEC_IS_NEW},
    )


def _session_jobs(is_platform: str) -> list[Manifest]:
    name = "object.metadata.?name.orValue(object.metadata.?generateName.orValue(''))"
    return policy(
        "tenancy-session-jobs",
        [rule("batch", "jobs")],
        [
            check(
                f"!{name}.startsWith('{SESSION_JOB_PREFIX}')",
                f"'metadata.name: only the platform creates and changes Jobs whose names begin with "
                f"{SESSION_JOB_PREFIX}; change the AISession, or choose another name'",
                "Forbidden",
            )
        ],
        conditions={
            "others": f"!{SYSTEM}",
            "not-the-platform": f"!{is_platform}",
            "not-a-controller": f"!{holds_everywhere('batch', 'jobs', 'update')}",
        },
        namespaces=TENANT_NAMESPACES,
    )


def _session_pods(is_platform: str) -> list[Manifest]:
    return policy(
        "tenancy-session-pods",
        [
            rule("", "pods/exec", "pods/attach", operations=["CONNECT"]),
            rule("", "pods", "pods/ephemeralcontainers", "pods/resize", operations=["UPDATE"]),
        ],
        [
            check(
                f"!request.name.startsWith('{SESSION_JOB_PREFIX}')",
                f"'metadata.name: users cannot change pods whose names begin with {SESSION_JOB_PREFIX}, or "
                "run commands in them, because the pods compute the results of AISessions; read their logs'",
                "Forbidden",
            )
        ],
        conditions={
            "others": f"!{SYSTEM}",
            "not-the-platform": f"!{is_platform}",
            "not-a-controller": f"!{holds_everywhere('', 'pods', 'create', 'exec')}",
        },
        namespaces=TENANT_NAMESPACES,
    )

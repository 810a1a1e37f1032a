"""Checks that a tenant's users can't get the rights of other users, or grant rights to other tenants."""

from typing import Final

from tenancy.base.kinds import (
    AISESSION,
    JOB,
    POD,
    RBAC_GROUP,
    ROLE,
    ROLE_BINDING,
    SERVICE_ACCOUNT,
)
from tenancy.base.names import SESSION_JOB_PREFIX
from tenancy.isolation.check import (
    PROBE,
    RBAC,
    Check,
    Layer,
    Level,
    NotApplicable,
    Protection,
    Request,
    Role,
    policy,
)
from tenancy.isolation.requests import DEPLOYMENT, SECRET, create, pod_spec
from tenancy.isolation.target import Target

_ESCALATE: Final = Protection(Layer.RBAC, "escalate")
_BIND: Final = Protection(Layer.RBAC, "bind")
_SESSION_NAME: Final = f"{SESSION_JOB_PREFIX}{PROBE}"


def _binding(target: Target, role_kind: str, role: str, subject_kind: str, subject: str) -> Request:
    return create(
        target,
        ROLE_BINDING,
        roleRef={"apiGroup": RBAC_GROUP, "kind": role_kind, "name": role},
        subjects=[{"kind": subject_kind, "name": subject, "apiGroup": RBAC_GROUP}],
    )


def _escalated_role(target: Target) -> Request:
    rule = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    return create(target, ROLE, rules=[rule])


def _token_secret(target: Target) -> Request:
    return create(
        target,
        SECRET,
        type="kubernetes.io/service-account-token",
        annotations={"kubernetes.io/service-account.name": target.admin_account},
    )


def _deployment_as_admin(target: Target) -> Request:
    labels = {"app": PROBE}
    spec = pod_spec(target, serviceAccountName=target.admin_account)
    template = {"metadata": {"labels": labels}, "spec": spec}
    return create(target, DEPLOYMENT, spec={"selector": {"matchLabels": labels}, "template": template})


def _token_request(target: Target) -> Request:
    # The API server looks for the ServiceAccount before it evaluates the policies.
    if (account := target.admin_account) not in target.accounts:
        raise NotApplicable(f"ServiceAccount {account} does not exist in {target.namespace}")
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": []}}
    return Request("create", SERVICE_ACCOUNT, account, target.namespace, "token", body)


def _session_job(target: Target) -> Request:
    template = {"spec": pod_spec(target, restartPolicy="Never")}
    return create(target, JOB, _SESSION_NAME, spec={"template": template})


def _session(target: Target) -> Request:
    return create(target, AISESSION, spec={"tenantRef": {"name": PROBE}, "sessionType": "analysis"})


IDENTITY_CHECKS: Final = (
    Check(
        "role-escalation",
        "An admin creates a Role with more rights",
        Level.SELF_SERVICE,
        Role.ADMIN,
        (_ESCALATE,),
        _escalated_role,
    ),
    Check(
        "role-bind",
        "An admin binds the ClusterRole cluster-admin",
        Level.SELF_SERVICE,
        Role.ADMIN,
        (_BIND,),
        lambda target: _binding(target, "ClusterRole", "cluster-admin", "User", PROBE),
    ),
    Check(
        "role-everybody",
        "An admin grants rights to all users of the cluster",
        Level.HOSTILE,
        Role.ADMIN,
        (policy("role-bindings"),),
        lambda target: _binding(target, "Role", "tenant-viewer", "Group", "system:authenticated"),
    ),
    Check(
        "role-anonymous",
        "An admin grants rights to anonymous clients",
        Level.HOSTILE,
        Role.ADMIN,
        (policy("role-bindings"),),
        lambda target: _binding(target, "Role", "tenant-viewer", "User", "system:anonymous"),
    ),
    Check(
        "account-token-secret",
        "An operator creates a Secret with a token of an admin's account",
        Level.HOSTILE,
        Role.OPERATOR,
        (policy("token-secrets"),),
        _token_secret,
    ),
    Check(
        "account-template",
        "An operator runs pods with an admin's account",
        Level.HOSTILE,
        Role.OPERATOR,
        (policy("pod-accounts"),),
        _deployment_as_admin,
    ),
    Check(
        "account-token-request",
        "An operator requests a token of an admin's account",
        Level.HOSTILE,
        Role.OPERATOR,
        # RBAC rejects the request unless the setting `roles` grants `serviceaccounts/token`.
        (RBAC, policy("token-requests")),
        _token_request,
    ),
    Check(
        "operator-bindings",
        "An operator grants rights",
        Level.BASIC,
        Role.OPERATOR,
        (RBAC,),
        lambda target: _binding(target, "Role", "tenant-admin", "User", PROBE),
    ),
    Check(
        "session-exec",
        "A user runs a command in the pod of an AI session",
        Level.HOSTILE,
        Role.OPERATOR,
        (policy("session-pods"),),
        lambda target: Request("connect", POD, _SESSION_NAME, target.namespace, "exec"),
    ),
    Check(
        "session-job",
        "A user creates a Job that looks like an AI session",
        Level.HOSTILE,
        Role.OPERATOR,
        (policy("session-jobs"),),
        _session_job,
    ),
    Check(
        "session-tenant",
        "A session runs for another tenant",
        Level.SELF_SERVICE,
        Role.OPERATOR,
        (policy("sessions"),),
        _session,
    ),
    Check(
        "session-status",
        "A user writes the result of an AI session",
        Level.HOSTILE,
        Role.ADMIN,
        (RBAC,),
        lambda target: Request(
            *("patch", AISESSION, PROBE, target.namespace, "status"), {"status": {"phase": "Completed"}}
        ),
    ),
)

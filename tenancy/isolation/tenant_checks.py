"""Checks that a user who can only write Tenants can't get rights outside the namespaces of tenants."""

from typing import Any, Final

from tenancy.base.kinds import TENANTS, Kind
from tenancy.base.labels import DELETER_ANNOTATION, SPEC_AUTHOR_ANNOTATION
from tenancy.base.pulumi_signature import PULUMI_SIGNATURE
from tenancy.history.deleted_tenant import deleter_annotation
from tenancy.history.spec_author import SpecAuthor
from tenancy.isolation.check import PROBE, SCHEMA, Check, Level, NotApplicable, Request, Role, policy
from tenancy.isolation.requests import create, delete, patch
from tenancy.isolation.target import Target

_SETTINGS: Final = policy("privileged-settings")


def _kind(target: Target) -> Kind:
    return next(kind for kind in TENANTS if kind.api_version == target.manifest["apiVersion"])


def _new_tenant(target: Target, **spec: Any) -> Request:
    return create(target, _kind(target), spec=spec)


def _foreign_rules(target: Target) -> Request:
    rule = {"apiGroups": [f"{PROBE}.invalid"], "resources": ["releases"], "verbs": ["create"]}
    return _new_tenant(target, roles={"admin": [rule]})


def _forged_author(target: Target) -> Request:
    author = SpecAuthor(1, "", "-", PROBE)
    return create(
        target, _kind(target), annotations={SPEC_AUTHOR_ANNOTATION: str(author)}, spec={"displayName": PROBE}
    )


def _forged_deleter(target: Target) -> Request:
    annotation = deleter_annotation(target.manifest, PROBE)
    change = {"metadata": {"annotations": {DELETER_ANNOTATION: annotation}}}
    return patch(target, _kind(target), target.name, change)


def _delete_protected(target: Target) -> Request:
    if not target.desired.is_protected:
        raise NotApplicable("the tenant is not protected")
    return delete(target, _kind(target), target.name)


TENANT_CHECKS: Final = (
    Check(
        "writer-pod-security",
        "A Tenant gives its author privileged pods",
        Level.HOSTILE,
        Role.WRITER,
        (_SETTINGS,),
        lambda target: _new_tenant(target, podSecurity="privileged"),
    ),
    Check(
        "writer-roles",
        "A Tenant grants rights on kinds of other projects",
        Level.HOSTILE,
        Role.WRITER,
        (_SETTINGS,),
        _foreign_rules,
    ),
    Check(
        "writer-signature",
        "A Tenant makes Pulumi read a file of the watcher",
        Level.HOSTILE,
        Role.WRITER,
        (_SETTINGS,),
        lambda target: _new_tenant(target, nodeSelector={PULUMI_SIGNATURE: "a"}),
    ),
    Check(
        "writer-everybody",
        "A Tenant gives all users of the cluster a role",
        Level.HOSTILE,
        Role.WRITER,
        (SCHEMA,),
        lambda target: _new_tenant(target, rbacConfig={"groups": ["system:authenticated"]}),
    ),
    Check(
        "writer-author",
        "A user names another user as the author of a spec",
        Level.HOSTILE,
        Role.WRITER,
        (policy("spec-author"),),
        _forged_author,
    ),
    Check(
        "writer-deleter",
        "A user names another user as the one who deletes a Tenant",
        Level.HOSTILE,
        Role.WRITER,
        (policy("deleter"),),
        _forged_deleter,
    ),
    Check(
        "writer-protected",
        "A user deletes a protected Tenant",
        Level.HOSTILE,
        Role.WRITER,
        (policy("protected"),),
        _delete_protected,
    ),
)

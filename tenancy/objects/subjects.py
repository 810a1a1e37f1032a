"""The users, groups and service accounts to which RoleBindings and specs give access. No I/O."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from tenancy.base.kinds import ROLE_BINDING
from tenancy.base.manifest import Manifest, Objects
from tenancy.objects.roles import all_access
from tenancy.spec.access import SubjectKind
from tenancy.spec.tenant import TenantModel

# A RoleBinding can also name a service account as the user `system:serviceaccount:NAMESPACE:NAME`.
_ACCOUNT_USER: Final = "system:serviceaccount:"


class Subject(NamedTuple):
    """A user, a group or a service account.

    `namespace` is empty for users and groups. In a spec, a service account without a namespace means the
    service account of this name in each of the tenant's namespaces.
    """

    kind: str
    name: str
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


def subject(kind: str, name: str, namespace: str = "") -> Subject:
    """A Subject. The user `system:serviceaccount:NAMESPACE:NAME` becomes a Subject of kind ServiceAccount."""
    if kind == SubjectKind.USER and name.startswith(_ACCOUNT_USER):
        account_namespace, _, account = name.removeprefix(_ACCOUNT_USER).partition(":")
        return Subject(SubjectKind.SERVICE_ACCOUNT.value, account, account_namespace)
    return Subject(kind, name, namespace)


def spec_subjects(tenant: TenantModel) -> tuple[Subject, ...]:
    """The subjects in the tenant's spec, without duplicates."""
    named = (subject(access.kind.value, access.name, access.namespace or "") for access in all_access(tenant))
    return tuple(sorted(set(named)))


def binding_subjects(binding: Manifest) -> set[Subject]:
    """The subjects in the field `subjects` of a RoleBinding or of a Tenant's status."""
    entries: list[Manifest] = binding.get("subjects") or []
    return {subject(entry["kind"], entry["name"], entry.get("namespace", "")) for entry in entries}


def removed_subjects(
    tenant: Manifest, subjects: Iterable[Subject], namespaces: Iterable[str], live: Objects
) -> set[Subject]:
    """The subjects of the last applied spec that are not in `subjects`.

    A subject that only gets another role or other namespaces does not count as removed. The status of the
    Tenant contains the subjects of the last applied spec. If an older version of the watcher wrote the
    status, the status lacks the subjects. In this case, the function uses the RoleBindings in `live`, which
    are the tenant's objects before the update.
    """
    names, status = tuple(namespaces), tenant.get("status") or {}
    before = binding_subjects(status) if "subjects" in status else _bound_subjects(live)
    return _in_namespaces(before, names) - _in_namespaces(subjects, names)


def _bound_subjects(objects: Objects) -> set[Subject]:
    bindings = (manifest for key, manifest in objects.items() if key.kind == ROLE_BINDING.kind)
    return {each for binding in bindings for each in binding_subjects(binding)}


def _in_namespaces(subjects: Iterable[Subject], namespaces: tuple[str, ...]) -> set[Subject]:
    """The subjects, each with a namespace if it is a service account.

    A service account without a namespace becomes one subject for each of `namespaces`.
    """
    return {
        each._replace(namespace=namespace)
        for each in subjects
        for namespace in (
            namespaces
            if each.kind == SubjectKind.SERVICE_ACCOUNT and not each.namespace
            else (each.namespace,)
        )
    }

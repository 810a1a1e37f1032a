"""The watcher's identity can write only the objects that the watcher needs, and only in tenants' namespaces.

RBAC allows all requests in these tests. Only admission policies reject some of them.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from cluster.errors import ClusterError
from tenancy.admission.watcher_limits.namespaces import watcher_namespace_policies
from tenancy.admission.watcher_limits.objects import watcher_object_policies
from tenancy.base.kinds import (
    AISESSION,
    CONFIG_MAP,
    EVENT,
    JOB,
    OPTIONAL_KINDS,
    RBAC_GROUP,
    ROLE,
    ROLE_BINDING,
    SERVICE,
    SERVICE_ACCOUNT,
    SUBJECT_ACCESS_REVIEW,
    TENANTS,
    TOKEN_REVIEW,
)
from tenancy.base.kinds import NAMESPACE as NAMESPACES
from tenancy.base.labels import ADOPTION_ANNOTATION, object_labels
from tenancy.base.manifest import Manifest
from tenancy.base.names import FIELD_MANAGER, FINALIZER, GROUPS
from tenancy.base.platform_names import COREDNS_CONFIG_MAP, SYSTEM_NAMESPACE, WATCHER_USER
from tenancy.plans import read_plans
from tenancy.platform.watcher_rights import watcher_rbac
from tenancy.sessions.job import session_job
from tenancy.spec.settings import TenantSettings
from tests.admission.conftest import People
from tests.admission.people import NAMESPACE, Attempt, Person, change, create, delete, denied_by
from tests.platform import Platform
from tests.tenancy.session_parts import session, spec

FOREIGN = "limits-foreign"
# A namespace with an annotation that allows tenant `acme` to adopt it.
CONSENTING = "limits-consenting"
# A namespace that the platform has created, without the platform's labels.
STRIPPED = "limits-stripped"
ADMIN_ROLE = {"apiGroup": RBAC_GROUP, "kind": "Role", "name": "tenant-admin"}


def namespace(name: str, **metadata: Any) -> Manifest:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, **metadata}}


def mark(name: str, tenant: str = "acme") -> Attempt:
    """A request that adds the labels of a tenant's namespace to the namespace `name`."""
    return change(NAMESPACES, name, {"metadata": {"labels": object_labels(tenant)}})


def change_tenant(body: Manifest) -> Attempt:
    """A request that changes tenant `acme` by a merge patch.

    Custom resources do not support strategic merge patches.
    """
    return Attempt("PATCH", TENANTS[0].path(name="acme"), body, "application/merge-patch+json")


def event(about: str, where: str) -> Attempt:
    involved = {"kind": about, "name": "acme", "namespace": where}
    return create(EVENT, "limits", where, involvedObject=involved, reason="Test", message="Test")


def job(where: str = NAMESPACE, owner: str = AISESSION.kind, **pod: Any) -> Attempt:
    """A request that creates the Job of a session in the namespace `where`.

    `owner` is the kind of the Job's owner. `pod` are additional fields of the pod spec.
    """
    manifest = session_job(session("limits", where), spec(), read_plans().sessions, TenantSettings())
    pod_spec = manifest["spec"]["template"]["spec"]
    pod_spec["containers"][0] |= pod.pop("container", {})
    pod_spec |= pod
    manifest["metadata"]["ownerReferences"][0]["kind"] = owner
    return Attempt("POST", JOB.path(where), manifest)


def with_volume(**volume: Any) -> Attempt:
    return job(volumes=[{"name": "data", **volume}])


SECRET_VARIABLE = {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}

# Each value is a request, and the policy that rejects it.
DENIED: dict[str, tuple[Attempt, str]] = {
    "mark a foreign namespace": (mark(FOREIGN), "watcher-namespaces"),
    "mark a namespace that another tenant may adopt": (mark(CONSENTING, "rival"), "watcher-namespaces"),
    "mark a namespace of Kubernetes": (mark("kube-system"), "watcher-namespaces"),
    "change a foreign namespace": (
        change(NAMESPACES, FOREIGN, {"metadata": {"labels": {"a": "b"}}}),
        "watcher-namespaces",
    ),
    "delete a foreign namespace": (delete(NAMESPACES, FOREIGN), "watcher-namespaces"),
    "delete a namespace before its adoption": (delete(NAMESPACES, CONSENTING), "watcher-namespaces"),
    "create a namespace without a tenant": (create(NAMESPACES, "limits-new"), "watcher-namespaces"),
    "create a reserved namespace": (
        create(NAMESPACES, "argocd", labels=object_labels("acme")),
        "watcher-namespaces",
    ),
    "bind a user in a foreign namespace": (
        create(ROLE_BINDING, "limits", FOREIGN, roleRef=ADMIN_ROLE, subjects=[]),
        "watcher-objects",
    ),
    "change the plans": (create(CONFIG_MAP, "limits", SYSTEM_NAMESPACE), "watcher-objects"),
    "write another ConfigMap of kube-system": (
        create(CONFIG_MAP, "limits", "kube-system"),
        "watcher-objects",
    ),
    "delete a ServiceAccount of Kubernetes": (
        delete(SERVICE_ACCOUNT, "default", "default"),
        "watcher-objects",
    ),
    "create a Service in default": (
        create(SERVICE, "limits", "default", spec={"ports": [{"port": 80}]}),
        "watcher-objects",
    ),
    "run a Job in a foreign namespace": (job(FOREIGN), "watcher-objects"),
    "write an Event in kube-system": (event("Tenant", "kube-system"), "watcher-objects"),
    "change a Tenant": (change_tenant({"spec": {"adminUsers": ["eve"]}}), "watcher-tenants"),
    "run a Job without a session": (job(owner="Tenant"), "watcher-jobs"),
    "mount a Secret": (with_volume(secret={"secretName": "s"}), "watcher-jobs"),
    "mount a projected Secret": (
        with_volume(projected={"sources": [{"secret": {"name": "s"}}]}),
        "watcher-jobs",
    ),
    "mount the token of the ServiceAccount": (job(automountServiceAccountToken=True), "watcher-jobs"),
    "read a Secret as a variable": (job(container={"env": [SECRET_VARIABLE]}), "watcher-jobs"),
    "read a Secret as variables": (
        job(container={"envFrom": [{"secretRef": {"name": "s"}}]}),
        "watcher-jobs",
    ),
    "read a Secret in an init container": (
        job(initContainers=[{"name": "init", "image": "a", "env": [SECRET_VARIABLE]}]),
        "watcher-jobs",
    ),
    "pull images with a Secret": (job(imagePullSecrets=[{"name": "s"}]), "watcher-jobs"),
}

NEEDED: dict[str, Attempt] = {
    "create a tenant's namespace": create(NAMESPACES, "limits-new", labels=object_labels("acme")),
    "adopt a namespace": mark(CONSENTING),
    "write in a namespace during its adoption": create(CONFIG_MAP, "limits", CONSENTING),
    "restore the labels of a namespace": mark(STRIPPED),
    "delete a namespace without labels": delete(NAMESPACES, STRIPPED),
    "release a namespace": change(
        NAMESPACES, NAMESPACE, {"metadata": {"labels": dict.fromkeys(object_labels("acme"))}}
    ),
    "delete a tenant's namespace": delete(NAMESPACES, NAMESPACE),
    "write an object of a tenant": create(CONFIG_MAP, "limits"),
    "write the configuration of CoreDNS": create(CONFIG_MAP, COREDNS_CONFIG_MAP, "kube-system"),
    "write an Event about a Tenant": event("Tenant", "default"),
    "write an Event about the plans": event("ConfigMap", SYSTEM_NAMESPACE),
    "write an Event about a session in a foreign namespace": event("AISession", FOREIGN),
    "add a finalizer to a Tenant": change_tenant({"metadata": {"finalizers": [FINALIZER, "a.example/b"]}}),
    "run the Job of a session": job(),
    "run a Job with an empty volume": with_volume(emptyDir={}),
}


@pytest.fixture(scope="module")
def watcher(running_platform: Platform, people: People) -> Iterator[Person]:
    """A client with the identity of the watcher. The fixture creates the namespaces that the requests use."""
    admin = running_platform.admin
    namespaces = [
        namespace(FOREIGN),
        namespace(CONSENTING, annotations={ADOPTION_ANNOTATION: "acme"}),
        namespace(STRIPPED, annotations={"a": "b"}),
    ]
    for manifest in namespaces:
        is_own = manifest["metadata"]["name"] == STRIPPED
        admin.apply(manifest, field_manager=FIELD_MANAGER if is_own else "test")
    yield people(WATCHER_USER)
    for manifest in namespaces:
        admin.delete(NAMESPACES, manifest["metadata"]["name"])


@pytest.mark.parametrize(("attempt", "policy"), DENIED.values(), ids=DENIED)
def test_watcher_writes_nothing_outside_tenants(watcher: Person, attempt: Attempt, policy: str) -> None:
    assert denied_by(policy) in watcher.refusal(attempt)


def test_watcher_grants_rights_only_in_namespaces_of_tenants(watcher: Person) -> None:
    """RBAC alone would let the watcher create a Role `tenant-admin` with any rules in every namespace."""
    rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    role = {"apiVersion": ROLE.api_version, "kind": ROLE.kind, "rules": rules}
    metadata = {"name": "tenant-admin", "namespace": NAMESPACE}
    watcher.apply({**role, "metadata": metadata}, is_dry_run=True)
    with pytest.raises(ClusterError, match=denied_by("watcher-objects")):
        watcher.apply({**role, "metadata": {**metadata, "namespace": "kube-system"}}, is_dry_run=True)


@pytest.mark.parametrize("attempt", NEEDED.values(), ids=NEEDED)
def test_watcher_writes_what_it_needs(watcher: Person, attempt: Attempt) -> None:
    assert watcher.refusal(attempt) == ""


def test_policies_check_every_kind_that_the_watcher_writes() -> None:
    """Each kind that the watcher's RBAC rules let it write must also be in the policies."""
    [role] = [manifest for manifest in watcher_rbac() if manifest["kind"] == "ClusterRole"]
    written = {
        (group, resource)
        for rule in role["rules"]
        if {"create", "update", "patch", "delete"} & set(rule["verbs"])
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    checked = {
        (group, resource)
        for manifest in (*watcher_namespace_policies(WATCHER_USER), *watcher_object_policies(WATCHER_USER))
        if manifest["kind"] == "ValidatingAdmissionPolicy"
        for rule in manifest["spec"]["matchConstraints"]["resourceRules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    reviews = {(kind.group, kind.plural) for kind in (TOKEN_REVIEW, SUBJECT_ACCESS_REVIEW)}
    # These objects belong to the platform in every namespace, or they are cluster-scoped.
    own = {(kind.group, kind.plural) for kind in OPTIONAL_KINDS if not kind.is_namespaced} | {
        (AISESSION.group, AISESSION.plural),
        (AISESSION.group, f"{AISESSION.plural}/status"),
        *((group, "tenants/status") for group in GROUPS),
    }
    assert written - checked == reviews | own

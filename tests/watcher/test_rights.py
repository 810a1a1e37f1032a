"""The watcher needs every rule of its ClusterRole.

The audit log of the API server contains the watcher's requests during the life of one tenant. A rule is
needed if it is the only rule that allows one of these requests.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from cluster.errors import ClusterError
from tenancy.base.kinds import AISESSION, LEASE, OPTIONAL_KINDS, RBAC_GROUP, ROLE, ROLE_BINDING, TENANTS, Kind
from tenancy.base.labels import object_labels
from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import SYSTEM_NAMESPACE, WATCHER
from tenancy.platform.watcher_rights import watcher_rbac
from tests.admission.people import Person
from tests.audit_log import AuditLog, Request
from tests.kubeconfigs import allow, service_account_token
from tests.page.client import PageClient
from tests.platform import Platform, tenant_manifest
from tests.waiting import eventually
from tests.watcher.extra_objects import OF_PLAN, OF_TENANT

Rule = dict[str, Any]

CLUSTER_ROLE = Kind(f"{RBAC_GROUP}/v1", "ClusterRole", "clusterroles", False)
[RULES] = [role["rules"] for role in watcher_rbac() if role["kind"] == CLUSTER_ROLE.kind]
# When the watcher writes a Role or a RoleBinding, the API server checks the verbs of this rule.
[GRANT_RULE] = [rule for rule in RULES if "escalate" in rule["verbs"]]
# This cluster has no integrations. The tests in `tests/integrations` need the rules for these groups.
INTEGRATION_GROUPS = {kind.group for kind in OPTIONAL_KINDS}
# The watcher uses these verbs only if it could not write the status of a session, or if its watch of Jobs is
# late.
USED_AFTER_ERRORS = {"aisessions": ("get",), "jobs": ("get",)}
NEEDED_HERE = [rule for rule in RULES if not INTEGRATION_GROUPS & set(rule["apiGroups"])]


LEASE_VERBS = {
    verb
    for role in watcher_rbac()
    if role["kind"] == ROLE.kind
    for rule in role["rules"]
    if LEASE.plural in rule["resources"]
    for verb in rule["verbs"]
}


def title(rule: Rule) -> str:
    """A text for the rule, for example `list,watch pods`."""
    return " ".join(",".join(rule[field]) for field in ("verbs", "resources", "apiGroups")).strip()


def allows(rule: Rule, request: Request) -> bool:
    return (
        request.group in rule["apiGroups"]
        and request.resource in rule["resources"]
        and request.verb in rule["verbs"]
        and request.name in rule.get("resourceNames", [request.name])
    )


def session(tenant: str) -> Manifest:
    return {
        "apiVersion": AISESSION.api_version,
        "kind": AISESSION.kind,
        "metadata": {"name": "study", "namespace": f"tenant-{tenant}"},
        "spec": {"tenantRef": {"name": tenant}, "sessionType": "analysis"},
    }


def metrics_status(platform: Platform, token: str) -> int:
    return PageClient(platform.port, {"Authorization": f"Bearer {token}"}).get("/metrics").status


def hosts(platform: Platform, tenant: str) -> list[str]:
    """The hosts that are reserved for the tenant."""
    reserved: list[str] = (
        (platform.tenant(tenant_manifest(tenant)) or {}).get("status", {}).get("hostnames", [])
    )
    return reserved


@pytest.fixture(scope="module")
def token(running_platform: Platform) -> str:
    """A token of a service account without the right to read the metrics."""
    return service_account_token(running_platform.admin, "rights-reader")


@pytest.fixture(scope="module")
def requests(running_platform: Platform, audit_log: AuditLog, token: str) -> list[Request]:
    """The watcher's requests during the life of a tenant.

    The watcher creates, repairs, changes and deletes the tenant, and runs a session.
    """
    platform, since, name = running_platform, audit_log.size(), "rights-life"
    platform.stop()
    # The watcher creates the Lease.
    platform.admin.delete(LEASE, WATCHER, SYSTEM_NAMESPACE)
    platform.start("--protect-metrics")
    # Leave out the LimitRange. With it, the session's pod would need a device that the tenant cannot use.
    extra = [manifest for manifest in (*OF_PLAN, *OF_TENANT) if manifest["kind"] != "LimitRange"]
    manifest = tenant_manifest(name, plan="pro", extraResources=extra, hostnames=[f"{name}.example.com"])
    platform.apply(manifest)
    platform.await_active(manifest)
    assert metrics_status(platform, token) == 403
    platform.admin.create(AISESSION, session(name))
    platform.remove(ROLE.kind, f"tenant-{name}", "tenant-viewer")
    platform.await_condition(manifest, "Repaired", "Drifted")
    metadata = {"name": "planted", "namespace": f"tenant-{name}", "labels": object_labels(name)}
    platform.apply({"apiVersion": ROLE.api_version, "kind": ROLE.kind, "metadata": metadata, "rules": []})
    eventually(lambda: platform.get(ROLE.kind, f"tenant-{name}", "planted") is None, "the Role is removed")

    def has_job() -> bool:
        live = platform.admin.get(AISESSION, "study", f"tenant-{name}") or {}
        return "job" in live.get("status", {})

    eventually(has_job, "the session has a Job")
    platform.apply(tenant_manifest(name, plan="pro"))
    eventually(lambda: not hosts(platform, name), "the watcher has looked for objects that name the host")
    platform.delete(manifest)
    platform.await_gone(manifest)
    platform.stop()
    return list(audit_log.requests(since))


def test_no_request_of_the_watcher_is_forbidden(requests: list[Request]) -> None:
    forbidden = {str(request._replace(namespace="")) for request in requests if request.status == 403}
    # Pulumi's Kubernetes provider watches Events to show them to users. It also works without this right.
    assert forbidden <= {"watch events"}


def test_watcher_uses_each_right_on_its_lease_and_no_other_lease(requests: list[Request]) -> None:
    leases = [request for request in requests if request.resource == LEASE.plural]
    assert {request.verb for request in leases} == LEASE_VERBS == {"get", "create", "patch"}
    assert {(request.namespace, request.name or WATCHER) for request in leases} == {
        (SYSTEM_NAMESPACE, WATCHER)
    }


@pytest.mark.parametrize("rule", [rule for rule in NEEDED_HERE if rule != GRANT_RULE], ids=title)
def test_without_a_rule_requests_of_the_watcher_are_forbidden(requests: list[Request], rule: Rule) -> None:
    others = [other for other in RULES if other != rule]
    forbidden = {
        request.verb
        for request in requests
        if allows(rule, request) and not any(allows(other, request) for other in others)
    }
    unused = set(rule["verbs"]) - forbidden
    assert unused <= {verb for resource in rule["resources"] for verb in USED_AFTER_ERRORS.get(resource, ())}
    assert forbidden


def test_without_escalate_and_bind_the_watcher_grants_no_rights(platform: Platform) -> None:
    people = {"rights-all": RULES, "rights-less": [rule for rule in RULES if rule != GRANT_RULE]}
    for name, rules in people.items():
        allow(platform.admin, name, name, rules)
    with_all, with_less = (Person.named(platform.admin_kubeconfig, name) for name in people)
    metadata = {"name": "tenant-admin", "namespace": "default"}
    secrets = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
    role = {"apiVersion": ROLE.api_version, "kind": ROLE.kind, "metadata": metadata, "rules": [secrets]}
    eventually(lambda: _refusal(with_all, role) == "", "the rights are in effect")
    assert "not currently held" in _refusal(with_less, role)
    binding = {
        "apiVersion": ROLE_BINDING.api_version,
        "kind": ROLE_BINDING.kind,
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": ROLE.kind, "name": "tenant-admin"},
        "subjects": [{"apiGroup": RBAC_GROUP, "kind": "User", "name": "eve"}],
    }
    platform.admin.apply(role)
    try:
        eventually(lambda: _refusal(with_all, binding) == "", "the API server knows the Role")
        assert "not currently held" in _refusal(with_less, binding)
    finally:
        platform.admin.delete(ROLE, "tenant-admin", "default")


def _refusal(person: Person, manifest: Manifest) -> str:
    """The error message if the person cannot apply the object, otherwise an empty string."""
    try:
        person.apply(manifest, is_dry_run=True)
    except ClusterError as error:
        return str(error)
    return ""


@pytest.fixture
def without_rule(running_platform: Platform, request: pytest.FixtureRequest) -> Iterator[Rule]:
    """Remove a rule from the watcher's ClusterRole.

    The watcher is not running at the start and at the end of the test.
    """
    admin, rule = running_platform.admin, request.param
    running_platform.stop()
    admin.patch(CLUSTER_ROLE, WATCHER, {"rules": [other for other in RULES if other != rule]})
    yield rule
    running_platform.stop()
    admin.patch(CLUSTER_ROLE, WATCHER, {"rules": RULES})


@pytest.mark.long
@pytest.mark.parametrize("without_rule", NEEDED_HERE, ids=title, indirect=True)
def test_watcher_without_a_rule_gets_an_error(
    running_platform: Platform, audit_log: AuditLog, token: str, without_rule: Rule
) -> None:
    """Remove one rule, and run the watcher.

    The API server must reject a request for a resource in this rule.
    """
    platform, since = running_platform, audit_log.size()
    name = f"rights-{RULES.index(without_rule)}"
    # Leave out the LimitRange. With it, the session's pod would need a device that the tenant cannot use.
    extra = [manifest for manifest in (*OF_PLAN, *OF_TENANT) if manifest["kind"] != "LimitRange"]
    manifest = tenant_manifest(name, plan="pro", extraResources=extra, hostnames=[f"{name}.example.com"])
    platform.launch("--protect-metrics", "--usage-metrics-period", "1")
    platform.apply(manifest)
    try:
        is_rejected = partial(_is_rejected, platform, audit_log, since, name, token, without_rule)
        eventually(is_rejected, "the API server rejects a request of the watcher")
    finally:
        platform.abandon(manifest)


def _is_rejected(
    platform: Platform, audit_log: AuditLog, since: int, tenant: str, token: str, rule: Rule
) -> bool:
    """Make the watcher send requests.

    Returns whether the API server has rejected a request for a resource in the rule.
    """
    metrics_status(platform, token)
    if platform.namespace(f"tenant-{tenant}"):
        platform.admin.apply(session(tenant))
    if hosts(platform, tenant):
        platform.admin.patch(TENANTS[0], tenant, {"spec": {"hostnames": None}})
    return any(
        request.status == 403 and request.group in rule["apiGroups"] and request.resource in rule["resources"]
        for request in audit_log.requests(since)
    )

"""The watcher checks the isolation of all tenants in rounds, even if no watched object changes."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cluster.live_objects import ManagedObjects
from cluster.plans_in_force import plans_in_force
from cluster.served_kinds import served_kinds
from tenancy.base.kinds import MANAGED_KINDS, RBAC_GROUP, Kind
from tenancy.base.labels import tenant_selector
from tenancy.base.manifest import Manifest
from tenancy.desired import DesiredState, desired_state
from tenancy.spec.tenant import tenant_from_manifest
from tests.platform import NewTenant, Platform
from tests.waiting import eventually
from watcher.isolation import IsolationChecks, Periods

Start = Callable[[Periods], IsolationChecks]

TENANT = "rounds"
CLUSTER_ROLE_BINDING = Kind(f"{RBAC_GROUP}/v1", "ClusterRoleBinding", "clusterrolebindings", False)
ROUNDS = Periods(first_round_s=0, round_s=0.1, failed_s=0.05, gather_s=0)


class Checked:
    """A tenant whose isolation is checked in this process, with caches that the test controls."""

    def __init__(self, platform: Platform, manifest: Manifest) -> None:
        self.live = platform.await_active(manifest)
        self.platform = platform
        self.plans = plans_in_force(platform.admin)
        self.managed = ManagedObjects()
        self.by_name: dict[str, list[Manifest]] = {TENANT: [self.live]}
        self.changed: list[str] = []
        for kind in MANAGED_KINDS:
            for live in platform.admin.list(kind, tenant_selector(TENANT))[0]:
                self.managed.put(None, live)

    @property
    def desired(self) -> DesiredState:
        return desired_state(tenant_from_manifest(self.live), self.plans, served_kinds(self.platform.admin))

    def checks(self, periods: Periods) -> IsolationChecks:
        tenants = SimpleNamespace(named=lambda name: self.by_name[name])
        plans = SimpleNamespace(current=self.plans)
        return IsolationChecks(
            *(self.platform.admin, cast(Any, tenants), self.managed, cast(Any, plans), self.changed.append),
            periods,
        )

    def network_policy(self) -> Manifest:
        (policy,) = (each for key, each in self.managed.of(TENANT).items() if key.name == "default-deny-all")
        return policy


@pytest.fixture
def checked(platform: Platform, new_tenant: NewTenant) -> Checked:
    return Checked(platform, new_tenant(TENANT, adminUsers=["rita"]))


@pytest.fixture
def start(checked: Checked) -> Iterator[Start]:
    """A function that starts the checks, and waits until the policies have been compared."""
    started: list[IsolationChecks] = []

    def started_checks(periods: Periods) -> IsolationChecks:
        checks = checked.checks(periods)
        started.append(checks)
        # A round checks only tenants whose desired state is known.
        checks.failures(TENANT, checked.desired)
        checks.start()
        eventually(lambda: checks.failures(TENANT) is not None, "the policies are compared")
        return checks

    yield started_checks
    for checks in started:
        checks.stop()
        # The informers end later, when their watches end.
        for thread in set(checks.threads) - set(checks.informers):
            thread.join()


def await_failures(checks: IsolationChecks, *ids: str) -> None:
    eventually(lambda: set(checks.failures(TENANT) or {}) == set(ids), lambda: f"{checks.failures(TENANT)}")


def test_round_finds_a_missing_object_and_its_return(checked: Checked, start: Start) -> None:
    """No watch reports it: the object is missing in the cache, and nothing changes afterwards."""
    checks, policy = start(ROUNDS), checked.network_policy()
    await_failures(checks)
    checked.managed.put(policy, None)
    await_failures(checks, "network-default-deny")
    assert TENANT in checked.changed
    checked.managed.put(None, policy)
    await_failures(checks)


def test_round_finds_rights_of_users_outside_the_tenant(platform: Platform, start: Start) -> None:
    checks = start(ROUNDS)
    await_failures(checks)
    binding = {
        "apiVersion": CLUSTER_ROLE_BINDING.api_version,
        "kind": CLUSTER_ROLE_BINDING.kind,
        "metadata": {"name": TENANT},
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": "view"},
        "subjects": [{"apiGroup": RBAC_GROUP, "kind": "User", "name": "rita"}],
    }
    platform.admin.create(CLUSTER_ROLE_BINDING, binding)
    try:
        eventually(lambda: "foreign-pods" in (checks.failures(TENANT) or {}), "the right is found")
    finally:
        platform.admin.delete(CLUSTER_ROLE_BINDING, TENANT)
    await_failures(checks)


def test_tenant_with_failed_checks_does_not_wait_for_the_next_round(checked: Checked, start: Start) -> None:
    policy = checked.network_policy()
    checked.managed.put(policy, None)
    checks = start(Periods(first_round_s=0, round_s=3600, failed_s=0.05, gather_s=0))
    await_failures(checks, "network-default-deny")
    checked.managed.put(None, policy)
    await_failures(checks)


def test_tenant_that_cannot_be_checked_does_not_stop_the_checks_of_others(
    checked: Checked, start: Start
) -> None:
    checked.by_name["broken"] = [{**checked.live, "spec": {"plan": 1}}]
    checked.managed.put(checked.network_policy(), None)
    checks = start(ROUNDS)
    checks.failures("broken", checked.desired)
    await_failures(checks, "network-default-deny")


def test_deleted_tenant_is_forgotten(checked: Checked, start: Start) -> None:
    checks, policy = start(ROUNDS), checked.network_policy()
    checked.managed.put(policy, None)
    await_failures(checks, "network-default-deny")
    checked.by_name[TENANT] = []
    eventually(lambda: checks.failures(TENANT) is None, "nothing is known about the tenant")
    assert checks.failures(TENANT, checked.desired) == {}

"""Checks continuously that tenants are isolated from each other.

The watcher cannot test the isolation with forbidden requests: it has no right to impersonate users, and some
admission policies do not apply to its own requests. So it checks that no protection is missing or changed:

- Admission policies: when a policy changes, a background thread compares all policies with the policies that
  the platform ships.
- Objects: once per hour, the thread compares each tenant's objects, such as NetworkPolicies, with the desired
  state.
- Rights: once per hour, the thread asks the API server for the rights of each tenant's users.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import structlog

from cluster.access_reviews import review_rights
from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.informer import Informer
from cluster.live_objects import ManagedObjects
from cluster.plans_in_force import LivePlans
from cluster.tenants import Tenants
from tenancy.base.kinds import POLICY_BINDING, VALIDATING_POLICY
from tenancy.base.manifest import Manifest, is_deleting
from tenancy.desired import DesiredState
from tenancy.isolation.catalog import CHECKS
from tenancy.isolation.check import Layer, Protection
from tenancy.isolation.comparison import object_problems, policy_problems
from tenancy.isolation.target import Target
from tenancy.spec.effective_settings import effective_settings
from tenancy.spec.tenant import tenant_from_manifest
from watcher.service import Service

log = structlog.get_logger(__name__)

_COMPARED_LAYERS: Final = (Layer.POLICY, Layer.OBJECT, Layer.POD_SECURITY)
_COMPARED_CHECKS: Final = tuple(
    check for check in CHECKS if any(each.layer in _COMPARED_LAYERS for each in check.protections)
)

# For each failed check: the ID of the check, and a message about the problem.
Failures = Mapping[str, str]


@dataclass(frozen=True)
class Periods:
    """When the background thread runs. A round checks the objects and rights of all tenants."""

    # The times from the start of the watcher to the first round, and from one round to the next. A round
    # sends about 30 access reviews per tenant.
    first_round_s: float = 300.0
    round_s: float = 3600.0
    # Tenants with failed checks are checked again after this time.
    failed_s: float = 60.0
    # After a change to an admission policy, wait this long, so that one comparison covers several changes.
    gather_s: float = 0.5


_PERIODS: Final = Periods()


class IsolationChecks(Service):
    """Checks the isolation of each tenant in the background. `failures` returns the results. Thread-safe.

    `on_change` is called with the name of a tenant whose failed checks may have changed.
    """

    def __init__(
        self,
        cluster: Cluster,
        tenants: Tenants,
        managed: ManagedObjects,
        plans: LivePlans,
        on_change: Callable[[str], None],
        periods: Periods = _PERIODS,
    ) -> None:
        super().__init__("check isolation")
        self._cluster = cluster
        self._tenants = tenants
        self._managed = managed
        self._plans = plans
        self._on_change = on_change
        self._periods = periods
        self._woken = threading.Event()
        self._live_policies: dict[tuple[str, str], Manifest] = {}
        self.informers = tuple(
            Informer(cluster, kind, self._policy_changed) for kind in (VALIDATING_POLICY, POLICY_BINDING)
        )
        # The problem of each policy that is missing or changed. None until the informers have listed all
        # policies.
        self._policy_problems: dict[Protection, str] | None = None
        # Set after the first comparison of the admission policies.
        self.is_compared = threading.Event()
        self._desired: dict[str, DesiredState] = {}
        self._last_round: dict[str, Failures] = {}

    @property
    def threads(self) -> Sequence[threading.Thread]:
        return [*super().threads, *self.informers]

    def start(self) -> None:
        for informer in self.informers:
            informer.start()
        super().start()

    def stop(self) -> None:
        super().stop()
        self._woken.set()
        for informer in self.informers:
            informer.stop()

    def failures(
        self, name: str, desired: DesiredState | None = None, *, has_drift: bool = False
    ) -> Failures | None:
        """The failed checks of a tenant. None if the results are not known yet. Sends no request.

        `desired` is the tenant's desired state. If it is None, the desired state of an earlier call is used.
        If `has_drift` is true, this method also compares the tenant's live objects with the desired state.
        """
        if desired is not None:
            self._desired[name] = desired
        known = self._desired.get(name)
        if self._policy_problems is None or known is None:
            return None
        failures = {**_failed(self._policy_problems), **self._last_round.get(name, {})}
        return {**failures, **self._changed_objects(known)} if has_drift else failures

    def _changed_objects(self, desired: DesiredState) -> Failures:
        return _failed(object_problems(desired, self._managed.of(desired.tenant)))

    def _policy_changed(self, before: Manifest | None, after: Manifest | None) -> None:
        for manifest in (before, after):
            if manifest:
                self._live_policies.pop((manifest["kind"], manifest["metadata"]["name"]), None)
        if after:
            self._live_policies[after["kind"], after["metadata"]["name"]] = after
        self._woken.set()

    def _run(self) -> None:
        for informer in self.informers:
            while not informer.is_synced.wait(1.0):
                if self._stopping.is_set():
                    return
        next_round_s = time.monotonic() + self._periods.first_round_s
        is_changed = True
        while not self._stopping.is_set():
            if is_changed:
                self._woken.clear()
                self._compare_policies()
                self.is_compared.set()
            if time.monotonic() > next_round_s:
                next_round_s = time.monotonic() + self._periods.round_s
                self._check(set(self._desired))
            elif not is_changed:
                self._check({name for name, failures in self._last_round.items() if failures})
            is_changed = self._woken.wait(self._periods.failed_s)
            self._stopping.wait(self._periods.gather_s if is_changed else 0.0)

    def _compare_policies(self) -> None:
        problems = policy_problems(list(self._live_policies.values()))
        if problems == self._policy_problems:
            return
        self._policy_problems = problems
        for protection, problem in problems.items():
            log.warning("admission policy is not as shipped", policy=protection.name, problem=problem)
        for name in list(self._desired):
            self._on_change(name)

    def _check(self, names: set[str]) -> None:
        """Check the objects of these tenants, and the rights of their users.

        Also remove the results of deleted tenants.
        """
        for name in names:
            if self._stopping.is_set():
                return
            try:
                failures = self._review(name)
            except ClusterError as error:
                log.warning("isolation not checked", tenant=name, problem=str(error))
                continue
            except Exception:
                # One tenant must not stop the checks of the others.
                log.exception("isolation not checked", tenant=name)
                continue
            if failures != self._last_round.get(name, {}):
                self._last_round[name] = failures
                self._on_change(name)

    def _review(self, name: str) -> Failures:
        manifests, desired = self._tenants.named(name), self._desired.get(name)
        if not manifests or desired is None:
            self._desired.pop(name, None)
            self._last_round.pop(name, None)
            return {}
        if is_deleting(manifests[0]):
            return {}
        tenant = tenant_from_manifest(manifests[0])
        settings = effective_settings(self._plans.current.plan(tenant.spec.plan), tenant.spec)
        target = Target(manifests[0], tenant, settings, desired, desired.namespaces[0])
        return {**self._changed_objects(desired), **review_rights(self._cluster, target)}


def _failed(problems: Mapping[Protection, str]) -> dict[str, str]:
    """The failed checks, by ID. A check fails if `problems` contains at least one of its protections."""
    return {
        check.id: next(problems[each] for each in check.protections if each in problems)
        for check in _COMPARED_CHECKS
        if any(each in problems for each in check.protections)
    }

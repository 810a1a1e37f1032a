"""Starts and stops the watcher. Only a watcher that leads starts the services that change something.

A standby keeps its informers running, so that it can take over quickly, and serves the web page.
"""

import os
import threading
from collections.abc import Callable, Sequence
from typing import Final, NoReturn

import structlog

from cluster.informer import Informer, not_synced
from cluster.plans_in_force import LivePlans
from stacks.stack import Stacks
from watcher.leadership.backend_claim import BackendClaim, known_backend
from watcher.leadership.election import Election
from watcher.service import Service, join
from watcher.sessions.controller import SessionController

log = structlog.get_logger(__name__)

# When the watcher stops, it gives running Pulumi operations `_FINISH_S` to finish. Then it cancels them, and
# waits up to `_CANCEL_S`. The sum is less than a pod's default termination grace period, which is 30 s.
_FINISH_S: Final = 15.0
_CANCEL_S: Final = 10.0
_LEASE_LOST_CODE: Final = 1


class Lifecycle:
    """Starts, stops and checks the threads of the watcher."""

    def __init__(
        self,
        stacks: Stacks,
        plans: LivePlans,
        election: Election,
        claim: BackendClaim,
        sessions: SessionController,
        informers: Callable[[], list[Informer]],
        observers: Sequence[Service],
        writers: Sequence[Service],
    ) -> None:
        """`informers` returns the informers of the watcher, without those of the sessions.

        `observers` start when the informers have listed all objects. They do not need the plans. `writers`
        reconcile and repair tenants. They also wait for the plans.
        """
        self._stacks = stacks
        self._plans = plans
        self._election = election
        self._claim = claim
        self._sessions = sessions
        self._informers = informers
        self._observers = observers
        self._writers = writers
        # Whether another watcher led after this process has started.
        self._is_takeover = False

    def start(
        self,
        informers: Sequence[Informer],
        on_plans: Callable[[], None],
        on_lead: Callable[[], None],
        before_writers: Callable[[], None],
    ) -> None:
        """Start the election and these informers, and return at once. `not_ready` reports the progress.

        `on_plans` is called for each new version of the plans. `on_lead` is called once, when this process
        leads and its copies of the objects are as new as those of the last leader.
        """

        def start() -> None:
            self._start_informers(informers, on_plans, on_lead)
            self._start_services(before_writers)

        threading.Thread(target=start, name="start", daemon=True).start()

    def stop(self) -> None:
        """Stop all services. Running Pulumi operations get a few seconds, and are then canceled.

        At the end, release the Lease, so that another watcher can lead at once.
        """
        log.info("stopping")
        services = self._services()
        for service in services:
            service.stop()
        for informer in (*self._informers(), *self._sessions.informers):
            informer.stop()
        self._plans.stop()
        self._claim.stop()
        join(services, _FINISH_S)
        self._stacks.stop()
        join(services, _CANCEL_S)
        is_idle = not any(service.is_running() for service in services)
        if not is_idle:
            self._stacks.kill()
        self._election.stop(is_idle=is_idle)

    def not_ready(self) -> list[str]:
        """The reasons why the watcher is not ready to reconcile tenants. A standby is ready to take over."""
        lists = [*not_synced(self._informers()), *self._plans.not_loaded()]
        return [*lists, *self._election.not_ready(), *self._claim.not_ready()]

    def not_healthy(self) -> list[str]:
        """One message for each thread that has died."""
        threads: list[threading.Thread] = [*self._informers(), *self._sessions.informers]
        for service in self._services():
            threads += service.threads
        return [
            f"thread died: {thread.name}"
            for thread in (*threads, self._plans.thread, *self._election.threads)
            if thread.ident and not thread.is_alive()
        ]

    def _start_informers(
        self, informers: Sequence[Informer], on_plans: Callable[[], None], on_lead: Callable[[], None]
    ) -> None:
        """Start the informers, and wait until this process leads and its copies are complete."""
        election = self._election
        election.start(known_backend(self._stacks), self._lose)
        # A leader must list all objects after the last leader has stopped.
        election.is_decided.wait()
        self._is_takeover = not election.is_leading.is_set()
        if not self._is_takeover:
            on_lead()
        for informer in informers:
            informer.start()
        self._sessions.start()
        self._plans.start(on_plans, election.is_leading.is_set)
        # Wait for the complete lists. Otherwise, objects that are not listed yet would count as deleted. The
        # informers of integrations exist only after the CRDs are listed.
        for informer in informers:
            informer.is_synced.wait()
        for informer in self._informers():
            informer.is_synced.wait()
        election.is_leading.wait()
        if self._is_takeover:
            for informer in self._informers():
                informer.await_current()
            on_lead()

    def _start_services(self, before_writers: Callable[[], None]) -> None:
        self._stacks.leadership = self._election.leadership
        self._claim.make()
        self._sessions.start_workers(is_takeover=self._is_takeover)
        for service in self._observers:
            service.start()
        for problem in self._plans.not_loaded():
            log.warning("waiting for plans", problem=problem)
        self._plans.is_loaded.wait()
        before_writers()
        for service in self._writers:
            service.start()

    def _services(self) -> list[Service]:
        """The services that change something."""
        return [*self._writers, self._sessions.workers, *self._observers]

    def _lose(self, grace_s: float) -> NoReturn:
        """End all operations and this process, before another watcher leads.

        Running operations get `grace_s` seconds to save their state. Then their processes are killed.
        """
        # The timer comes first, because the following calls can wait for operations that hang.
        timer = threading.Timer(grace_s, self._kill_and_exit)
        timer.daemon = True
        timer.start()
        for service in self._services():
            service.stop()
        self._stacks.stop()
        join(self._services(), grace_s)
        self._kill_and_exit()

    def _kill_and_exit(self) -> NoReturn:
        try:
            self._stacks.kill()
        finally:
            # Threads may still wait for responses of the API server, so a normal exit could take too long.
            os._exit(_LEASE_LOST_CODE)

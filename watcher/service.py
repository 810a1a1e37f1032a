"""Base classes of the watcher's background services. A service runs threads from `start` to `stop`."""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import structlog

from cluster.errors import ClusterError
from stacks.errors import StackStopped
from watcher.queue import TenantQueue

log = structlog.get_logger(__name__)


class TryAgain(Exception):
    """Tells a worker to process the tenant again after a delay.

    The code that raises this exception has already logged or reported the cause, if there was an error.
    """


class Service(ABC):
    """One or more threads that run until they are stopped. Subclasses implement `_run`."""

    def __init__(self, name: str, count: int = 1) -> None:
        names = [name] if count == 1 else [f"{name} {number}" for number in range(count)]
        self.name = name
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._run, name=each, daemon=True) for each in names]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Ask the threads to end, and return at once. `join` waits until they have ended."""
        self._stopping.set()

    @property
    def threads(self) -> Sequence[threading.Thread]:
        """All threads of the service, including those of its informers."""
        return self._threads

    def is_running(self) -> bool:
        """Whether the service's own threads are running. Informers are not counted: they change nothing."""
        return any(thread.is_alive() for thread in self._threads)

    def join(self, deadline_s: float) -> None:
        """Wait until the service's own threads have ended, or until `time.monotonic()` is `deadline_s`."""
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(max(0.0, deadline_s - time.monotonic()))

    @abstractmethod
    def _run(self) -> None:
        """The code that each thread runs. It must return after `stop` is called."""


class PeriodicService(Service):
    """Calls a function at the start and then once per period. If the function fails, logs the exception."""

    def __init__(self, name: str, function: Callable[[], None], period_s: float) -> None:
        super().__init__(name)
        self._function = function
        self._period_s = period_s

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._function()
            except Exception:
                log.exception("background task failed", task=self.name, retry_after_s=self._period_s)
            self._stopping.wait(self._period_s)


class QueueWorkers(Service):
    """Threads that take tenants from a queue, and call `process` with each tenant's name.

    `process` returns the number of seconds after which to process the tenant again, or None to wait until the
    tenant is added again. If `process` raises an exception, the queue retries the tenant after a delay, and
    `on_failure` is called with the tenant's name and the exception. After each success, the tenant has a
    pause of `pause_s` seconds (see `TenantQueue.done`).
    """

    def __init__(
        self,
        name: str,
        queue: TenantQueue,
        process: Callable[[str], float | None],
        *,
        count: int = 1,
        pause_s: float = 0.0,
        on_failure: Callable[[str, Exception], None] = lambda _tenant, _error: None,
    ) -> None:
        super().__init__(name, count)
        self._queue = queue
        self._process = process
        self._pause_s = pause_s
        self._on_failure = on_failure

    def stop(self) -> None:
        super().stop()
        self._queue.close()

    def _run(self) -> None:
        while (tenant := self._queue.take()) is not None:
            try:
                requeue_after_s = self._process(tenant)
            except StackStopped:
                return  # The watcher is stopping. The next watcher process continues the work.
            except Exception as error:
                self._fail(tenant, error)
            else:
                self._queue.done(tenant, self._pause_s)
                if requeue_after_s is not None:
                    self._queue.add(tenant, requeue_after_s)

    def _fail(self, tenant: str, error: Exception) -> None:
        facts = {"task": self.name, "tenant": tenant, "retry_after_s": self._queue.failed(tenant)}
        if isinstance(error, ClusterError):
            log.warning("request failed", problem=str(error), **facts)
        elif not isinstance(error, TryAgain):
            log.error("unexpected error", exc_info=error, **facts)
        self._on_failure(tenant, error)


def join(services: Sequence[Service], timeout_s: float) -> None:
    """Wait until these services have ended, but at most `timeout_s` seconds in total."""
    deadline_s = time.monotonic() + timeout_s
    for service in services:
        service.join(deadline_s)

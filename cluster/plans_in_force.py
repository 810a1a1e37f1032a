"""Reads the plans from a file or a ConfigMap. The last valid version is in force: it applies to all tenants.

If one plan in a new version is invalid, the whole version is rejected. The log and an Event show whether a
version was accepted.
"""

import hashlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Final

import structlog

from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.events import NORMAL, WARNING, record_event
from cluster.informer import Informer
from tenancy.base.errors import PlansError
from tenancy.base.kinds import CONFIG_MAP, NAMESPACE
from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import PLANS_CONFIG_MAP, SYSTEM_NAMESPACE
from tenancy.base.reasons import Reason
from tenancy.plans import Plans, plans_from_text, read_plans

log = structlog.get_logger(__name__)

_KEY: Final = "plans.yaml"
_POLL_S: Final = 0.5


def plans_in_force(cluster: Cluster) -> Plans:
    """Read the plans from the platform's ConfigMap. If there is no ConfigMap, return the shipped plans.

    The shipped plans are in the plans file of the package `tenancy`. Raises PlansError if the ConfigMap has
    no valid plans.
    """
    config_map = cluster.get(CONFIG_MAP, PLANS_CONFIG_MAP, SYSTEM_NAMESPACE)
    if config_map is None:
        return read_plans()
    text = _text_in(config_map)
    if text is None:
        name = f"{SYSTEM_NAMESPACE}/{PLANS_CONFIG_MAP}"
        raise PlansError(f"ConfigMap {name} has no key {_KEY}; store the plans file under this key")
    return plans_from_text(text)


class LivePlans(ABC):
    """Keeps the plans in force. If the newest version is rejected, also keeps the error.

    Subclasses watch a file or a ConfigMap for new versions.
    """

    def __init__(self, cluster: Cluster, source: str, absence_problem: str, thread: threading.Thread) -> None:
        self.thread = thread
        self.is_loaded = threading.Event()
        self._cluster = cluster
        self._source = source
        self._absence_problem = absence_problem
        self._plans: Plans | None = None
        self._problem = ""
        self._on_change: Callable[[], None] | None = None
        self._may_write: Callable[[], bool] = lambda: True

    @property
    def current(self) -> Plans:
        """The plans in force. Read this property only after `is_loaded` is set."""
        assert self._plans is not None, "the plans are not loaded yet"
        return self._plans

    @property
    def is_valid(self) -> bool:
        """Whether the newest version of the plans is valid, and therefore in force."""
        return self.is_loaded.is_set() and not self._problem

    def start(self, on_change: Callable[[], None], may_write: Callable[[], bool]) -> None:
        """Start a thread that watches for new versions, and calls `on_change` for each accepted version.

        Events are created only while `may_write` returns true.
        """
        self._on_change = on_change
        self._may_write = may_write
        self.thread.start()

    def not_loaded(self) -> list[str]:
        """One message that says why no plans are in force yet. Empty if plans are in force."""
        if self.is_loaded.is_set():
            return []
        return [f"no plans yet: {self._problem or f'{self._source}: {self._absence_problem}'}"]

    def notes(self) -> list[str]:
        """One message if the newest version is invalid, and an older version is in force. Otherwise empty."""
        if self.is_valid or not self.is_loaded.is_set():
            return []
        return [f"the newest plans are rejected: {self._problem}; the last valid plans stay in force"]

    @abstractmethod
    def stop(self) -> None: ...

    @abstractmethod
    def _involved_object(self) -> Manifest:
        """The object that Events about the plans refer to."""

    def _load(self, text: str | None) -> None:
        """Put a new version of the plans in force if it is valid. Otherwise, reject it.

        `text` is the YAML document with the plans. It is None if the file, the ConfigMap, or the key in the
        ConfigMap is missing.
        """
        try:
            if text is None:
                raise PlansError(self._absence_problem)
            plans = plans_from_text(text)
        except (PlansError, ValueError, RecursionError) as error:
            # The YAML library raises ValueError for some errors, such as an invalid date.
            self._problem = f"{self._source}: {error}"
            log.warning("plans refused", source=self._source, problem=str(error), sha256=_sha256(text))
            self._record(WARNING, Reason.PLANS_REFUSED, self._problem)
            return
        is_replacement = self.is_loaded.is_set() or bool(self._problem)
        self._plans, self._problem = plans, ""
        self.is_loaded.set()
        names = ", ".join(sorted(plans.plans))
        log.info("plans in force", source=self._source, plans=names, sha256=_sha256(text))
        if self._on_change is not None:
            self._on_change()
        if is_replacement:
            self._record(NORMAL, Reason.PLANS_ACCEPTED, f"{self._source}: plans in force: {names}")

    def _record(self, severity: str, reason: Reason, message: str) -> None:
        if self._may_write():
            record_event(self._cluster, self._involved_object(), severity, reason, message)


class FilePlans(LivePlans):
    """Plans in a file. Users can edit the file or replace it.

    A thread reads the file at regular intervals. If the content has changed, it is a new version.
    """

    def __init__(self, cluster: Cluster, path: Path) -> None:
        """Read the file, and put its plans in force.

        Raises OSError if the file cannot be read, and PlansError if the plans are invalid.
        """
        thread = threading.Thread(target=self._follow, name="watch plans", daemon=True)
        super().__init__(cluster, str(path), "is missing or cannot be read", thread)
        self._path = path
        self._stopping = threading.Event()
        self._loaded = self._content()
        self._plans = read_plans(path)
        self.is_loaded.set()

    def stop(self) -> None:
        self._stopping.set()

    def _follow(self) -> None:
        before = self._loaded
        while not self._stopping.wait(_POLL_S):
            content = self._content()
            # An editor may be writing the file. So wait until two reads in a row return the same content.
            if content == before != self._loaded:
                self._loaded = content
                self._load(content)
            before = content

    def _content(self) -> str | None:
        try:
            # Content that is not text is accepted here. The YAML library rejects it later.
            return self._path.read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return None

    def _involved_object(self) -> Manifest:
        """The platform's namespace.

        Events refer to the namespace, because a file is not a Kubernetes object.
        """
        try:
            namespace = self._cluster.get(NAMESPACE, SYSTEM_NAMESPACE)
        except ClusterError:
            namespace = None
        return namespace or {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM_NAMESPACE}}


class ConfigMapPlans(LivePlans):
    """Plans in a ConfigMap. The ConfigMap may be created after the watcher starts."""

    def __init__(self, cluster: Cluster, namespace: str, name: str) -> None:
        self._informer = Informer(cluster, CONFIG_MAP, self._changed, namespace=namespace, name=name)
        absence_problem = f"is missing, or has no key {_KEY}"
        super().__init__(cluster, f"ConfigMap {namespace}/{name}", absence_problem, self._informer)
        self._config_map: Manifest = {}

    def stop(self) -> None:
        self._informer.stop()

    def _changed(self, before: Manifest | None, after: Manifest | None) -> None:
        self._config_map = after or before or {}
        if before is None or after is None or _text_in(before) != _text_in(after):
            self._load(None if after is None else _text_in(after))

    def _involved_object(self) -> Manifest:
        return self._config_map


def _sha256(text: str | None) -> str:
    """The SHA-256 checksum of the text. In the log, the checksum identifies a version."""
    return hashlib.sha256((text or "").encode(errors="surrogateescape")).hexdigest()


def _text_in(config_map: Manifest) -> str | None:
    text: str | None = (config_map.get("data") or {}).get(_KEY)
    return text

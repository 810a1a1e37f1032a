"""The plans in force: the last good ones, whatever becomes of the file or the ConfigMap they come from.

Workers read `current` at each turn; the watcher is told when it changes. A new version is taken whole or
refused whole, and log and Event tell of both. `plans_in_force` is for an operator's own `pulumi`.
"""

import hashlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Final

import structlog

from cluster.client import Cluster, ClusterError
from cluster.events import NORMAL, WARNING, record_event
from cluster.informer import Informer
from tenancy.base.errors import PlansError
from tenancy.base.kinds import CONFIG_MAP, NAMESPACE
from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import PLANS_CONFIG_MAP, SYSTEM_NAMESPACE
from tenancy.plans import Plans, plans_from_text, read_plans

log = structlog.get_logger(__name__)

_KEY: Final = "plans.yaml"
_POLL_S: Final = 0.5


def plans_in_force(cluster: Cluster) -> Plans:
    """The plans in the platform's ConfigMap; where there is none, the shipped ones."""
    config_map = cluster.get(CONFIG_MAP, PLANS_CONFIG_MAP, SYSTEM_NAMESPACE)
    if config_map is None:
        return read_plans()
    text = _text_in(config_map)
    if text is None:
        raise PlansError(f"ConfigMap {SYSTEM_NAMESPACE}/{PLANS_CONFIG_MAP} has no key {_KEY}")
    return plans_from_text(text)


class LivePlans(ABC):
    """Which plans are in force, and what is wrong with the newest. Where they come from, subclasses know."""

    def __init__(self, cluster: Cluster, source: str, absence: str, thread: threading.Thread) -> None:
        self.thread = thread
        self.is_known = threading.Event()
        self._cluster = cluster
        self._source = source
        self._absence = absence
        self._plans: Plans | None = None
        self._problem = ""
        self._on_change: Callable[[], None] | None = None

    @property
    def current(self) -> Plans:
        assert self._plans is not None, "nobody works before the plans are known"
        return self._plans

    @property
    def is_valid(self) -> bool:
        """Whether the newest version is the one in force."""
        return self.is_known.is_set() and not self._problem

    def start(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        self.thread.start()

    def missing(self) -> list[str]:
        """Why there are no plans yet; nothing: there are."""
        if self.is_known.is_set():
            return []
        return [f"no plans yet: {self._problem or f'{self._source}: {self._absence}'}"]

    def notes(self) -> list[str]:
        """What is wrong with the newest version, while an older one is in force."""
        if self.is_valid or not self.is_known.is_set():
            return []
        return [f"plans: refused {self._problem}; the last good ones stay in force"]

    @abstractmethod
    def stop(self) -> None: ...

    @abstractmethod
    def _about(self) -> Manifest:
        """The object that events are about."""

    def _offer(self, text: str | None) -> None:
        """A new version, or none at all where one should be: it is in force from now on, or refused."""
        try:
            if text is None:
                raise PlansError(self._absence)
            plans = plans_from_text(text)
        except (PlansError, ValueError, RecursionError) as error:
            # The YAML library lets some faults through as they are, such as a date that is none.
            self._problem = f"{self._source}: {error}"
            log.warning("plans refused", source=self._source, problem=str(error), sha256=_sha256(text))
            record_event(self._cluster, self._about(), WARNING, "PlansRefused", self._problem)
            return
        is_news = self.is_known.is_set() or bool(self._problem)
        self._plans, self._problem = plans, ""
        self.is_known.set()
        names = ", ".join(sorted(plans.plans))
        log.info("plans in force", source=self._source, plans=names, sha256=_sha256(text))
        if self._on_change is not None:
            self._on_change()
        if is_news:
            told = f"{self._source}: in force now: {names}"
            record_event(self._cluster, self._about(), NORMAL, "PlansAccepted", told)


class FilePlans(LivePlans):
    """From a file. Its content alone counts, so it may be replaced in any way."""

    def __init__(self, cluster: Cluster, path: Path) -> None:
        """PlansError or OSError where it can't be used: there is no older version to go on with."""
        thread = threading.Thread(target=self._follow, name="watch plans", daemon=True)
        super().__init__(cluster, str(path), "is not there, or can't be read", thread)
        self._path = path
        self._stopping = threading.Event()
        self._offered = self._content()
        self._plans = read_plans(path)
        self.is_known.set()

    def stop(self) -> None:
        self._stopping.set()

    def _follow(self) -> None:
        before = self._offered
        while not self._stopping.wait(_POLL_S):
            content = self._content()
            # Only what reads the same twice: an editor may be in the middle of writing it.
            if content == before != self._offered:
                self._offered = content
                self._offer(content)
            before = content

    def _content(self) -> str | None:
        try:
            # What is no text is left for the YAML library to refuse.
            return self._path.read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return None

    def _about(self) -> Manifest:
        """A file is no object, so the platform's namespace stands for it."""
        try:
            home = self._cluster.get(NAMESPACE, SYSTEM_NAMESPACE)
        except ClusterError:
            home = None
        return home or {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM_NAMESPACE}}


class ConfigMapPlans(LivePlans):
    """From a ConfigMap, which may come after the watcher."""

    def __init__(self, cluster: Cluster, namespace: str, name: str) -> None:
        self._informer = Informer(cluster, CONFIG_MAP, self._changed, namespace=namespace, name=name)
        absence = f"is not there, or has no key {_KEY}"
        super().__init__(cluster, f"ConfigMap {namespace}/{name}", absence, self._informer)
        self._seen: Manifest = {}

    def stop(self) -> None:
        self._informer.stop()

    def _changed(self, before: Manifest | None, after: Manifest | None) -> None:
        self._seen = after or before or {}
        if before is None or after is None or _text_in(before) != _text_in(after):
            self._offer(None if after is None else _text_in(after))

    def _about(self) -> Manifest:
        return self._seen


def _sha256(text: str | None) -> str:
    """What `sha256sum` says of the version, so that who has written it can find it in the log."""
    return hashlib.sha256((text or "").encode(errors="surrogateescape")).hexdigest()


def _text_in(config_map: Manifest) -> str | None:
    text: str | None = (config_map.get("data") or {}).get(_KEY)
    return text

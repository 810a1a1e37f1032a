"""Sessions as their users write and see them, in a cluster where pods run.

What becomes of a session's pod goes by its model: see MODELS.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from cluster.client import ClusterError
from tenancy.base.kinds import AISESSION, JOB, POD, SERVICE_ACCOUNT
from tenancy.base.manifest import Manifest
from tenancy.base.names import SESSION_LABEL, namespace_name
from tests.platform import Platform, tenant_manifest
from tests.waiting import eventually

OUTCOME, MESSAGE, AFTER = "kwok.tenancy/outcome", "kwok.tenancy/message", "kwok.tenancy/after"
RESULT: Final = {"outputData": "a report", "metrics": {"tokensUsed": 1234}}
MODELS: Final[Manifest] = {
    "good": {"annotations": {OUTCOME: "complete", AFTER: "100ms", MESSAGE: json.dumps(RESULT)}},
    "plain": {"annotations": {OUTCOME: "complete", AFTER: "100ms", MESSAGE: "all went well"}},
    "bad": {"annotations": {OUTCOME: "fail", AFTER: "100ms", MESSAGE: "no data"}},
    "endless": {"annotations": {OUTCOME: "hang", AFTER: "100ms"}},
}
TYPES: Final[Manifest] = {
    kind: {"image": f"registry.example/{kind}:1", "model": "good"}
    for kind in ("analysis", "automation", "research")
}
_ROOM: Final = {"cpu": "8", "memory": "32Gi", "limits.cpu": "8", "limits.memory": "32Gi", "pods": "20"}
PLANS: Final[Manifest] = {
    "plans": {
        "basic": {"maxNamespaces": 5, "quotas": [{"name": "compute", "hard": _ROOM}], "limits": {}},
        # Room for two sessions as they are by default.
        "tight": {
            "maxNamespaces": 5,
            "quotas": [{"name": "compute", "hard": {**_ROOM, "cpu": "1"}}],
            "limits": {},
        },
    },
    "sessions": {"types": TYPES, "models": MODELS},
}
# The tenant that tests share.
HOME: Final = tenant_manifest(
    "home",
    adminUsers=["alice"],
    access=[
        {"kind": "User", "name": "oscar", "role": "operator"},
        {"kind": "User", "name": "vera", "role": "viewer"},
    ],
)


@dataclass(frozen=True)
class Sessions:
    """The sessions in one namespace of a tenant."""

    platform: Platform
    tenant: str
    namespace: str

    def create(self, name: str, model: str | None = "good", kind: str = "analysis", **spec: Any) -> Manifest:
        given = {"tenantRef": {"name": self.tenant}, "sessionType": kind, **spec}
        if model is not None:
            given["aiModel"] = model
        return self.platform.admin.create(
            AISESSION,
            {
                "apiVersion": AISESSION.api_version,
                "kind": AISESSION.kind,
                "metadata": {"name": name, "namespace": self.namespace},
                "spec": given,
            },
        )

    def delete(self, name: str) -> None:
        self.platform.admin.delete(AISESSION, name, self.namespace)

    def all(self) -> dict[str, Manifest]:
        found = self.platform.admin.list(AISESSION, namespace=self.namespace)[0]
        return {session["metadata"]["name"]: session for session in found}

    def status(self, name: str) -> Manifest:
        found = self.platform.admin.get(AISESSION, name, self.namespace)
        return (found or {}).get("status") or {}

    def phases(self) -> dict[str, str]:
        return {name: (found.get("status") or {}).get("phase", "") for name, found in self.all().items()}

    def job(self, name: str) -> Manifest | None:
        return self.platform.admin.get(JOB, f"aisession-{name}", self.namespace)

    def jobs(self) -> list[Manifest]:
        return self.platform.admin.list(JOB, SESSION_LABEL, namespace=self.namespace)[0]

    def pods(self, name: str = "") -> list[Manifest]:
        selector = f"{SESSION_LABEL}={name}" if name else SESSION_LABEL
        return self.platform.admin.list(POD, selector, namespace=self.namespace)[0]

    def await_phase(self, name: str, phase: str, reason: str | None = None) -> Manifest:
        """The session's status, once it is in this phase, for this reason where one is given."""

        def found() -> Manifest | None:
            status = self.status(name)
            is_it = status.get("phase") == phase and (reason is None or status.get("reason") == reason)
            return status if is_it else None

        return eventually(found, f"session {name} is {phase} ({reason}); is {self.status(name)}")

    def set_limit(self, limit: int | None) -> None:
        """Of the shared tenant; None: its plan's own. Returns when the watcher knows of it."""
        assert self.tenant == HOME["metadata"]["name"]
        given = {} if limit is None else {"maxSessions": limit}
        manifest = {**HOME, "spec": {**HOME["spec"], **given}}
        self.platform.apply(manifest)
        self.platform.await_active(manifest)

    def clear(self) -> None:
        """Ends all, and returns when nothing of them is left."""
        for name in self.all():
            self.delete(name)
        eventually(lambda: not self.pods() and not self.jobs(), f"nothing is left in {self.namespace}")

    def finish(self, name: str, outcome: str = "complete") -> None:
        """Lets one end that runs on and on."""
        (pod,) = self.pods(name)
        change = {"metadata": {"annotations": {OUTCOME: outcome}}}
        self.platform.admin.patch(POD, pod["metadata"]["name"], change, namespace=self.namespace)


def sessions_of(platform: Platform, tenant: str, name: str | None = None) -> Sessions:
    """For a tenant that is Active: pods can be made in the namespace from then on."""
    namespace = namespace_name(tenant, name)
    account = {"name": "default", "namespace": namespace}
    # The cluster would come to it, but in its own time.
    platform.admin.apply({"apiVersion": "v1", "kind": SERVICE_ACCOUNT.kind, "metadata": account})
    return Sessions(platform, tenant, namespace)


def start_watcher(platform: Platform, plans_file: Path) -> None:
    """With short waits, so that tests have short ones too."""
    platform.start("--plans", str(plans_file), "--session-retry", "0.5")


def set_plans(platform: Platform, file: Path, plans: Manifest) -> None:
    """Returns when the watcher works with these plans."""

    def changes() -> int:
        return sum(1 for line in platform.log() if line["message"] == "plans in force")

    text, known = yaml.safe_dump(plans), changes()
    if file.read_text() != text:
        file.write_text(text)
        eventually(lambda: changes() > known, "the plans are in force")


def refusal(sessions: Sessions, name: str, **spec: Any) -> str:
    """Why the API server refuses the session; empty where it does not."""
    try:
        sessions.create(name, **spec)
    except ClusterError as error:
        return str(error)
    return ""

"""Creates and reads sessions like a user, in a cluster whose pods run.

The model of a session defines how the session's pod ends, see MODELS.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from cluster.errors import ClusterError
from tenancy.base.kinds import AISESSION, JOB, POD, SERVICE_ACCOUNT
from tenancy.base.labels import SESSION_LABEL
from tenancy.base.manifest import Manifest
from tenancy.base.names import namespace_name
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
_HARD: Final = {"cpu": "8", "memory": "32Gi", "limits.cpu": "8", "limits.memory": "32Gi", "pods": "20"}
PLANS: Final[Manifest] = {
    "plans": {
        "basic": {"maxNamespaces": 5, "quotas": [{"name": "compute", "hard": _HARD}], "limits": {}},
        # The quota is enough for two sessions with the default resources.
        "tight": {
            "maxNamespaces": 5,
            "quotas": [{"name": "compute", "hard": {**_HARD, "cpu": "1"}}],
            "limits": {},
        },
    },
    "sessions": {"types": TYPES, "models": MODELS},
}
# The tenant that several tests share.
SHARED_TENANT: Final = tenant_manifest(
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
        full_spec = {"tenantRef": {"name": self.tenant}, "sessionType": kind, **spec}
        if model is not None:
            full_spec["aiModel"] = model
        return self.platform.admin.create(
            AISESSION,
            {
                "apiVersion": AISESSION.api_version,
                "kind": AISESSION.kind,
                "metadata": {"name": name, "namespace": self.namespace},
                "spec": full_spec,
            },
        )

    def delete(self, name: str) -> None:
        self.platform.admin.delete(AISESSION, name, self.namespace)

    def all(self) -> dict[str, Manifest]:
        sessions = self.platform.admin.list(AISESSION, namespace=self.namespace)[0]
        return {session["metadata"]["name"]: session for session in sessions}

    def status(self, name: str) -> Manifest:
        session = self.platform.admin.get(AISESSION, name, self.namespace)
        return (session or {}).get("status") or {}

    def phases(self) -> dict[str, str]:
        return {name: (session.get("status") or {}).get("phase", "") for name, session in self.all().items()}

    def job(self, name: str) -> Manifest | None:
        return self.platform.admin.get(JOB, f"aisession-{name}", self.namespace)

    def jobs(self) -> list[Manifest]:
        return self.platform.admin.list(JOB, SESSION_LABEL, namespace=self.namespace)[0]

    def pods(self, name: str = "") -> list[Manifest]:
        selector = f"{SESSION_LABEL}={name}" if name else SESSION_LABEL
        return self.platform.admin.list(POD, selector, namespace=self.namespace)[0]

    def await_phase(self, name: str, phase: str, reason: str | None = None) -> Manifest:
        """Wait until the session has this phase and, if `reason` is set, this reason.

        Returns the session's status.
        """

        def matching_status() -> Manifest | None:
            status = self.status(name)
            matches = status.get("phase") == phase and (reason is None or status.get("reason") == reason)
            return status if matches else None

        return eventually(matching_status, f"session {name} is {phase} ({reason}); is {self.status(name)}")

    def set_limit(self, limit: int | None) -> None:
        """Set `maxSessions` of the shared tenant, and wait until the spec is applied.

        With None, use the plan's value.
        """
        assert self.tenant == SHARED_TENANT["metadata"]["name"]
        override = {} if limit is None else {"maxSessions": limit}
        manifest = {**SHARED_TENANT, "spec": {**SHARED_TENANT["spec"], **override}}
        self.platform.apply(manifest)
        self.platform.await_active(manifest)

    def clear(self) -> None:
        """Delete all sessions. Waits until their Jobs and pods no longer exist."""
        for name in self.all():
            self.delete(name)
        eventually(lambda: not self.pods() and not self.jobs(), f"nothing is left in {self.namespace}")

    def finish(self, name: str, outcome: str = "complete") -> None:
        """End the pod of a session with the model `endless`. The pod gets this outcome."""
        (pod,) = self.pods(name)
        change = {"metadata": {"annotations": {OUTCOME: outcome}}}
        self.platform.admin.patch(POD, pod["metadata"]["name"], change, namespace=self.namespace)

    def set_pod_status(self, name: str, **status: Any) -> None:
        """Write the status of a session's pod.

        In a cluster without KWOK, no other program writes this status.
        """
        (pod,) = eventually(lambda: self.pods(name), f"session {name} has a pod")
        change, pod_name = {"status": status}, pod["metadata"]["name"]
        self.platform.admin.patch(POD, pod_name, change, namespace=self.namespace, subresource="status")


def sessions_of(platform: Platform, tenant: str, name: str | None = None) -> Sessions:
    """The sessions in a namespace of an Active tenant.

    Creates the ServiceAccount that pods in the namespace need.
    """
    namespace = namespace_name(tenant, name)
    account = {"name": "default", "namespace": namespace}
    # Kubernetes would create the ServiceAccount too, but later.
    platform.admin.apply({"apiVersion": "v1", "kind": SERVICE_ACCOUNT.kind, "metadata": account})
    return Sessions(platform, tenant, namespace)


def start_watcher(platform: Platform, plans_file: Path) -> None:
    """Start the watcher with a short retry period for sessions, so that tests do not wait long."""
    platform.start("--plans", str(plans_file), "--session-retry", "0.5")


def set_plans(platform: Platform, file: Path, plans: Manifest) -> None:
    """Write the plans file, and wait until the plans are in force."""

    def change_count() -> int:
        return sum(1 for line in platform.log() if line["message"] == "plans in force")

    text, count_before = yaml.safe_dump(plans), change_count()
    if file.read_text() != text:
        file.write_text(text)
        eventually(lambda: change_count() > count_before, "the plans are in force")


def refusal(sessions: Sessions, name: str, **spec: Any) -> str:
    """The error message if the API server rejects the session, otherwise an empty string."""
    try:
        sessions.create(name, **spec)
    except ClusterError as error:
        return str(error)
    return ""

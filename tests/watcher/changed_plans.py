"""Writes changed plans, and waits until the watcher reports them or applies them to tenants."""

import hashlib
from pathlib import Path
from typing import Any
from uuid import uuid4

import yaml

from tenancy.base.manifest import Manifest
from tenancy.plans import SHIPPED_PLANS
from tests.platform import Platform
from tests.waiting import eventually

INVALID = "plans: {pro: {maxNamespaces: none}}"
PLANS_CONFIG_MAP = ("tenancy-system", "tenancy-plans")


def plans_with(**changes: dict[str, Any]) -> str:
    """The text of the shipped plans with some changed settings.

    `changes` maps the name of a plan to its settings.
    """
    plans = yaml.safe_load(SHIPPED_PLANS.read_text())["plans"]
    return yaml.safe_dump({"plans": plans | {name: plans[name] | change for name, change in changes.items()}})


def plans_without(name: str) -> str:
    plans = yaml.safe_load(SHIPPED_PLANS.read_text())["plans"]
    del plans[name]
    return yaml.safe_dump({"plans": plans})


def write_plans(platform: Platform, path: Path, text: str) -> None:
    """Write the plans to the file, and wait until they are in force."""
    # Make each text unique, because the watcher ignores a text that is already in force.
    text += f"\n# {uuid4()}\n"
    path.write_text(text)
    await_in_force(platform, text)


def await_in_force(platform: Platform, text: str) -> None:
    sha256 = hashlib.sha256(text.encode()).hexdigest()

    def is_in_force() -> bool:
        lines = [line for line in platform.log() if line["message"] == "plans in force"]
        return sha256 in [line["sha256"] for line in lines]

    eventually(is_in_force, "the plans are in force")


def apply_config_map(platform: Platform, text: str, key: str = "plans.yaml") -> None:
    metadata = {"namespace": PLANS_CONFIG_MAP[0], "name": PLANS_CONFIG_MAP[1]}
    platform.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {key: text}})


def await_update(platform: Platform, manifest: Manifest, cause: str) -> None:
    """Wait until the Tenant is Active and its last update has this cause."""

    def is_done() -> bool:
        status = (platform.tenant(manifest) or {}).get("status", {})
        return bool(status.get("phase") == "Active" and status["lastUpdate"]["message"] == cause)

    eventually(is_done, f"the last update is {cause!r}; tenant is {platform.tenant(manifest)}")


def await_note(platform: Platform, note: str) -> None:
    """Wait until the response of /readyz contains this text about invalid plans.

    The watcher must still be ready.
    """
    eventually(lambda: note in platform.http_get("/readyz")[1], f"/readyz reports {note!r}")
    status, text = platform.http_get("/readyz")
    assert (status, text.splitlines()[0]) == (200, "ok")
    assert text.endswith("; the last valid plans stay in force\n")
    assert platform.metrics("tenancy_plans_valid") == {(): 0}


def await_no_note(platform: Platform) -> None:
    eventually(lambda: platform.http_get("/readyz") == (200, "ok\n"), "/readyz has no notes")
    assert platform.metrics("tenancy_plans_valid") == {(): 1}


def uids(platform: Platform, tenant: str) -> dict[tuple[str, str, str], str]:
    return {key: item["metadata"]["uid"] for key, item in platform.objects(tenant).items()}


def unchanged_tenants(platform: Platform) -> set[str]:
    """The tenants that the watcher has reconciled without an update since the last change of the plans."""
    messages = [(line["message"], line.get("tenant")) for line in platform.log()]
    last_change = max(index for index, (message, _) in enumerate(messages) if message == "plans in force")
    return {tenant or "" for message, tenant in messages[last_change:] if message == "tenant unchanged"}


def event_count(platform: Platform, name: str, reason: str, text: str) -> int:
    """The number of Events about the object `name` that have this reason and contain this text."""
    return sum(
        1 for event_reason, message in platform.events(name) if event_reason == reason and text in message
    )


def updates(platform: Platform, *manifests: Manifest) -> dict[str, tuple[int, str]]:
    """The number of updates of each tenant, and the cause of its last update."""
    tenants = {manifest["metadata"]["name"]: platform.tenant(manifest) or {} for manifest in manifests}
    last_updates = {name: tenant["status"]["lastUpdate"] for name, tenant in tenants.items()}
    return {name: (update["version"], update["message"]) for name, update in last_updates.items()}

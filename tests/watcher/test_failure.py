"""The watcher reports and retries failures. A failure does not cause an endless series of updates."""

import copy
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tenancy.base.kinds import RESOURCE_QUOTA, Kind, kind_of
from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import SYSTEM_NAMESPACE, WATCHER
from tests.holding import held_updates
from tests.platform import CANARIES, ROOT, NewTenant, Platform, condition
from tests.waiting import eventually

REVIEW = Kind("authorization.k8s.io/v1", "SubjectAccessReview", "subjectaccessreviews", is_namespaced=False)
CLUSTER_ROLE = Kind("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", is_namespaced=False)


def may_create_policies(platform: Platform) -> bool:
    attributes = {"verb": "create", "group": "networking.k8s.io", "resource": "networkpolicies"}
    spec = {"user": f"system:serviceaccount:{SYSTEM_NAMESPACE}:{WATCHER}", "resourceAttributes": attributes}
    review = {"apiVersion": REVIEW.api_version, "kind": REVIEW.kind, "metadata": {}, "spec": spec}
    return bool(platform.admin.create(REVIEW, review)["status"]["allowed"])


@contextmanager
def denied_policies(platform: Platform) -> Iterator[None]:
    """Let the watcher only read NetworkPolicies. On exit, restore the watcher's rights."""
    role = platform.admin.get(CLUSTER_ROLE, WATCHER)
    assert role is not None
    rules = role["rules"]
    restricted = copy.deepcopy(rules)
    for rule in restricted:
        if "networkpolicies" in rule["resources"]:
            rule["verbs"] = ["get", "list", "watch"]
    platform.admin.patch(CLUSTER_ROLE, WATCHER, {"rules": restricted})
    try:
        eventually(lambda: not may_create_policies(platform), "the new rules are in effect")
        yield
    finally:
        platform.admin.patch(CLUSTER_ROLE, WATCHER, {"rules": rules})


def test_denied_access_is_told_and_recovers_by_itself(platform: Platform, new_tenant: NewTenant) -> None:
    with denied_policies(platform):
        manifest = new_tenant("denied", plan="basic")
        ready = platform.await_condition(manifest, "AccessDenied")
        assert "networkpolicies" in ready["message"]
        tenant = platform.tenant(manifest)
        assert tenant is not None
        assert tenant["status"]["phase"] == "Failed"
        assert "AccessDenied" in [reason for reason, _ in platform.events("denied")]
    platform.await_active(manifest)
    assert len(platform.objects("denied")) == 19


def test_refused_repair_is_reported_and_succeeds_when_it_is_allowed(
    platform: Platform, new_tenant: NewTenant
) -> None:
    policy = ("NetworkPolicy", "tenant-repair-denied", "default-deny-all")
    manifest = new_tenant("repair-denied", plan="basic")
    platform.await_active(manifest)
    with denied_policies(platform):
        platform.remove(*policy)
        message = platform.await_condition(manifest, "RepairFailed")["message"]
        assert message.startswith("NetworkPolicy tenant-repair-denied/default-deny-all: ")
        assert condition(platform.tenant(manifest) or {}, "Drifted")["status"] == "True"
    eventually(lambda: platform.get(*policy), "the policy is back")
    platform.await_active(manifest)


def test_contested_object_is_reported_and_causes_no_more_updates(
    platform: Platform, new_tenant: NewTenant
) -> None:
    quota = ("ResourceQuota", "tenant-fought", "tenant-quota")
    policy = ("NetworkPolicy", "tenant-fought", "default-deny-all")
    manifest = new_tenant("fought", plan="basic")
    platform.await_active(manifest)

    def edit() -> None:
        change = {"spec": {"hard": {"cpu": "64"}}}
        platform.admin.patch(
            RESOURCE_QUOTA, "tenant-quota", change, namespace="tenant-fought", field_manager="rival"
        )

    def contested_tenant() -> Manifest | None:
        edit()
        tenant = platform.tenant(manifest) or {}
        return tenant if condition(tenant, "Ready").get("reason") == "DriftContested" else None

    def await_quota() -> None:
        eventually(
            lambda: (platform.get(*quota) or {})["spec"]["hard"]["cpu"] == "500m", "the quota is restored"
        )

    def await_update(version: int) -> None:
        def last_version() -> int:
            return int((platform.tenant(manifest) or {})["status"]["lastUpdate"]["version"])

        eventually(lambda: last_version() >= version, f"update {version} is done")
        assert last_version() == version

    # Five updates must run first, and each update can be slow.
    tenant = eventually(contested_tenant, "the status reports DriftContested", timeout_s=200)
    message = condition(tenant, "Ready")["message"]
    assert "ResourceQuota tenant-fought/tenant-quota was repaired" in message
    assert re.search(r"\(the field manager rival changed spec\.hard\.cpu at \d{4}-\S+Z\)", message)
    command = message.partition("run: ")[2]
    assert command == "kubectl get resourcequotas tenant-quota -n tenant-fought -o yaml --show-managed-fields"
    assert condition(tenant, "Drifted")["status"] == "True"
    version = tenant["status"]["lastUpdate"]["version"]
    for _ in range(2):
        await_quota()
        edit()
    # Drift of another object still causes an update. Drift of the contested object causes no more updates.
    platform.remove(*policy)
    eventually(lambda: platform.get(*policy), "the policy is back")
    await_update(version + 1)
    # Without further edits, the tenant becomes Active without an update.
    await_quota()
    platform.await_active(manifest)
    platform.apply({**manifest, "spec": {"plan": "pro"}})
    await_update(version + 2)


def test_object_with_a_changed_immutable_field_is_recreated(
    platform: Platform, new_tenant: NewTenant
) -> None:
    manifest = new_tenant("immutable", plan="basic")
    platform.await_active(manifest)
    # The scopes of a ResourceQuota are immutable.
    platform.remove("ResourceQuota", "tenant-immutable", "tenant-quota")
    labels = {"tenant.platform.ai/name": "immutable", "tenant.platform.ai/managed": "true"}
    metadata = {"name": "tenant-quota", "namespace": "tenant-immutable", "labels": labels}
    quota = {"hard": {"pods": "1000"}, "scopes": ["BestEffort"]}
    platform.apply({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": quota})

    def is_recreated() -> bool:
        live = platform.get("ResourceQuota", "tenant-immutable", "tenant-quota")
        return live is not None and "scopes" not in live["spec"] and live["spec"]["hard"]["pods"] == "20"

    eventually(is_recreated, "the quota counts all pods again")
    platform.await_active(manifest)


def test_removed_finalizer_is_restored(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("released", plan="basic")
    platform.await_active(manifest)
    before = platform.pulumi_run_count("up", "released")
    platform.admin.patch(kind_of(manifest), "released", {"metadata": {"finalizers": None}})
    eventually(
        lambda: (platform.tenant(manifest) or {})["metadata"].get("finalizers"), "the finalizer is back"
    )
    assert platform.pulumi_run_count("up", "released") == before


def test_stopped_watcher_finishes_a_running_update(platform: Platform, new_tenant: NewTenant) -> None:
    with held_updates(platform, "tenant-finishes-c"):
        manifest = new_tenant("finishes", namespaces=[{"name": name} for name in "abc"])
        eventually(lambda: platform.namespace("tenant-finishes-c"), "an update is running")
        assert platform.process is not None
        platform.process.terminate()
        eventually(
            lambda: "stopping" in [line["message"] for line in platform.log()], "the watcher is stopping"
        )
    platform.stop()
    tenant = platform.tenant(manifest)
    assert tenant is not None
    assert tenant["status"]["phase"] == "Active"
    assert len(platform.objects("finishes")) == 3 * 19


def test_watcher_that_cannot_start_says_why_in_one_line(platform: Platform) -> None:
    passphrase = platform.folder / "passphrase"
    passphrase.write_text(CANARIES["PULUMI_CONFIG_PASSPHRASE"])
    faults = {
        "set PULUMI_BACKEND_URL": {"PULUMI_BACKEND_URL": ""},
        "cannot run the pulumi command": {"PATH": "/nowhere"},
        "no usable kubeconfig": {"KUBECONFIG": "/nowhere"},
        "unable to read PULUMI_CONFIG_PASSPHRASE_FILE": {"PULUMI_CONFIG_PASSPHRASE_FILE": "/nowhere"},
    }
    environment = {name: value for name, value in platform.environment.items() if "PASSPHRASE" not in name}
    processes = {
        message: launch(
            {**environment, "PULUMI_CONFIG_PASSPHRASE_FILE": str(passphrase), **change},
            *("--run-dir", str(platform.folder / f"faulty-{number}")),
        )
        for number, (message, change) in enumerate(faults.items())
    }
    for message, process in processes.items():
        _, problem = process.communicate(timeout=200)
        assert process.returncode == 2, problem
        assert message in problem
        assert len(problem.splitlines()) == 1


def test_invalid_plans_file_is_rejected_at_the_start(platform: Platform) -> None:
    plans = platform.folder / "broken.yaml"
    plans.write_text("plans: {p: {maxNamespaces: none}}")
    process = launch(platform.environment, "--plans", str(plans))
    _, problem = process.communicate(timeout=200)
    assert process.returncode == 2
    assert "plans.p.maxNamespaces" in problem


def launch(environment: dict[str, str], *args: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "watcher", *args]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)

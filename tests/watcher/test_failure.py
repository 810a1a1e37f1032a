"""What goes wrong is told, retried, and does not turn into a storm."""

import copy
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tenancy.base.kinds import Kind, kind_of
from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import SYSTEM_NAMESPACE, WATCHER
from tests.holding import held_updates
from tests.platform import ROOT, NewTenant, Platform, condition
from tests.waiting import eventually

REVIEW = Kind("authorization.k8s.io/v1", "SubjectAccessReview", "subjectaccessreviews", is_namespaced=False)
CLUSTER_ROLE = Kind("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", is_namespaced=False)


def may_create_policies(platform: Platform) -> bool:
    asked = {"verb": "create", "group": "networking.k8s.io", "resource": "networkpolicies"}
    spec = {"user": f"system:serviceaccount:{SYSTEM_NAMESPACE}:{WATCHER}", "resourceAttributes": asked}
    review = {"apiVersion": REVIEW.api_version, "kind": REVIEW.kind, "metadata": {}, "spec": spec}
    return bool(platform.admin.create(REVIEW, review)["status"]["allowed"])


@contextmanager
def denied_policies(platform: Platform) -> Iterator[None]:
    """While in it, the watcher may only read NetworkPolicies."""
    role = platform.admin.get(CLUSTER_ROLE, WATCHER)
    assert role is not None
    rules = role["rules"]
    less = copy.deepcopy(rules)
    for rule in less:
        if "networkpolicies" in rule["resources"]:
            rule["verbs"] = ["get", "list", "watch"]
    platform.admin.patch(CLUSTER_ROLE, WATCHER, {"rules": less})
    try:
        eventually(lambda: not may_create_policies(platform), "the API server goes by the new rules")
        yield
    finally:
        platform.admin.patch(CLUSTER_ROLE, WATCHER, {"rules": rules})


def test_denied_access_is_told_and_recovers_by_itself(platform: Platform, new_tenant: NewTenant) -> None:
    with denied_policies(platform):
        manifest = new_tenant("denied", plan="basic")
        told = platform.await_condition(manifest, "AccessDenied")
        assert "networkpolicies" in told["message"]
        tenant = platform.tenant(manifest)
        assert tenant is not None
        assert tenant["status"]["phase"] == "Failed"
        assert "AccessDenied" in [reason for reason, _ in platform.events("denied")]
    platform.await_active(manifest)
    assert len(platform.objects("denied")) == 18


def test_refused_repair_is_reported_and_succeeds_when_it_is_allowed(
    platform: Platform, new_tenant: NewTenant
) -> None:
    policy = ("NetworkPolicy", "tenant-refused", "default-deny-all")
    manifest = new_tenant("refused", plan="basic")
    platform.await_active(manifest)
    with denied_policies(platform):
        platform.remove(*policy)
        message = platform.await_condition(manifest, "RepairFailed")["message"]
        assert message.startswith("NetworkPolicy tenant-refused/default-deny-all: ")
        assert condition(platform.tenant(manifest) or {}, "Drifted")["status"] == "True"
    eventually(lambda: platform.get(*policy), "the policy is back")
    platform.await_active(manifest)


def test_fight_over_an_object_is_told_and_slows_down(platform: Platform, new_tenant: NewTenant) -> None:
    quota = ("ResourceQuota", "tenant-fought", "tenant-quota")
    policy = ("NetworkPolicy", "tenant-fought", "default-deny-all")
    manifest = new_tenant("fought", plan="basic")
    platform.await_active(manifest)

    def edit() -> None:
        platform.patch(*quota, {"spec": {"hard": {"cpu": "64"}}})

    def fight() -> Manifest | None:
        edit()
        tenant = platform.tenant(manifest) or {}
        return tenant if condition(tenant, "Ready").get("reason") == "DriftContested" else None

    def await_quota() -> None:
        eventually(lambda: (platform.get(*quota) or {})["spec"]["hard"]["cpu"] == "500m", "it is put back")

    def await_update(version: int) -> None:
        def updates() -> int:
            return int((platform.tenant(manifest) or {})["status"]["lastUpdate"]["version"])

        eventually(lambda: updates() >= version, f"update {version} is done")
        assert updates() == version

    # Five updates, and each may take its time.
    tenant = eventually(fight, "the status tells of the fight", timeout_s=200)
    told = condition(tenant, "Ready")["message"]
    assert "ResourceQuota tenant-fought/tenant-quota was repaired" in told
    assert condition(tenant, "Drifted")["status"] == "True"
    version = tenant["status"]["lastUpdate"]["version"]
    for _ in range(2):
        await_quota()
        edit()
    # Meanwhile, what else goes wrong is still mended, by an update. The fight itself brings about no more.
    platform.remove(*policy)
    eventually(lambda: platform.get(*policy), "the policy is back")
    await_update(version + 1)
    # Left alone, it settles by itself: what was edited is put back already.
    await_quota()
    platform.await_active(manifest)
    platform.apply({**manifest, "spec": {"plan": "pro"}})
    await_update(version + 2)


def test_object_that_cannot_be_changed_back_is_made_anew(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("immutable", plan="basic")
    platform.await_active(manifest)
    # A quota that counts only some pods: its scopes can't be changed once it is there.
    platform.remove("ResourceQuota", "tenant-immutable", "tenant-quota")
    labels = {"tenant.platform.ai/name": "immutable", "tenant.platform.ai/managed": "true"}
    metadata = {"name": "tenant-quota", "namespace": "tenant-immutable", "labels": labels}
    quota = {"hard": {"pods": "1000"}, "scopes": ["BestEffort"]}
    platform.apply({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": quota})

    def is_mended() -> bool:
        found = platform.get("ResourceQuota", "tenant-immutable", "tenant-quota")
        return found is not None and "scopes" not in found["spec"] and found["spec"]["hard"]["pods"] == "20"

    eventually(is_mended, "the quota counts all pods again")
    platform.await_active(manifest)


def test_finalizer_taken_away_comes_back(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("released", plan="basic")
    platform.await_active(manifest)
    before = platform.pulumi_run_count("up", "released")
    platform.admin.patch(kind_of(manifest), "released", {"metadata": {"finalizers": None}})
    eventually(
        lambda: (platform.tenant(manifest) or {})["metadata"].get("finalizers"), "the finalizer is back"
    )
    assert platform.pulumi_run_count("up", "released") == before


def test_stopped_watcher_lets_an_update_end(platform: Platform, new_tenant: NewTenant) -> None:
    with held_updates(platform, "tenant-finishes-c"):
        manifest = new_tenant("finishes", namespaces=[{"name": name} for name in "abc"])
        eventually(lambda: platform.namespace("tenant-finishes-c"), "an up is under way")
        assert platform.process is not None
        platform.process.terminate()
        eventually(lambda: "stopping" in [line["message"] for line in platform.log()], "it is about to end")
    platform.stop()
    tenant = platform.tenant(manifest)
    assert tenant is not None
    assert tenant["status"]["phase"] == "Active"
    assert len(platform.objects("finishes")) == 3 * 18


def test_watcher_that_cannot_start_says_why_in_one_line(platform: Platform) -> None:
    passphrase = platform.folder / "passphrase"
    passphrase.write_text("test")
    faults = {
        "set PULUMI_BACKEND_URL": {"PULUMI_BACKEND_URL": ""},
        "cannot run the pulumi command": {"PATH": "/nowhere"},
        "no usable kubeconfig": {"KUBECONFIG": "/nowhere"},
        "unable to read PULUMI_CONFIG_PASSPHRASE_FILE": {"PULUMI_CONFIG_PASSPHRASE_FILE": "/nowhere"},
    }
    given = {name: value for name, value in platform.environment.items() if "PASSPHRASE" not in name}
    started = {
        told: launch(
            {**given, "PULUMI_CONFIG_PASSPHRASE_FILE": str(passphrase), **change},
            *("--run-dir", str(platform.folder / f"faulty-{number}")),
        )
        for number, (told, change) in enumerate(faults.items())
    }
    for told, process in started.items():
        _, problem = process.communicate(timeout=200)
        assert process.returncode == 2, problem
        assert told in problem
        assert len(problem.splitlines()) == 1


def test_broken_plans_file_is_refused_at_the_start(platform: Platform) -> None:
    plans = platform.folder / "broken.yaml"
    plans.write_text("plans: {p: {maxNamespaces: none}}")
    process = launch(platform.environment, "--plans", str(plans))
    _, problem = process.communicate(timeout=200)
    assert process.returncode == 2
    assert "plans.p.maxNamespaces" in problem


def launch(environment: dict[str, str], *args: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "watcher", *args]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)

"""What goes wrong is told, retried, and does not turn into a storm."""

import copy
import subprocess
import sys

from tenancy.kinds import Kind, kind_of
from tenancy.manifest import Manifest
from tenancy.system import WATCHER
from tests.platform import NewTenant, Platform, condition
from tests.waiting import eventually

CLUSTER_ROLE = Kind("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", is_namespaced=False)


def test_denied_access_is_told_and_recovers_by_itself(platform: Platform, new_tenant: NewTenant) -> None:
    role = platform.admin.get(CLUSTER_ROLE, WATCHER)
    assert role is not None
    rules = role["rules"]
    less = copy.deepcopy(rules)
    for rule in less:
        if "networkpolicies" in rule["resources"]:
            rule["verbs"] = ["get", "list", "watch"]
    platform.admin.patch(CLUSTER_ROLE, WATCHER, {"rules": less})
    try:
        manifest = new_tenant("denied", plan="basic")
        told = platform.await_condition(manifest, "AccessDenied")
        assert "networkpolicies" in told["message"]
        tenant = platform.tenant(manifest)
        assert tenant is not None
        assert tenant["status"]["phase"] == "Failed"
        assert "AccessDenied" in [reason for reason, _ in platform.events("denied")]
    finally:
        platform.admin.patch(CLUSTER_ROLE, WATCHER, {"rules": rules})
    platform.await_active(manifest)
    assert len(platform.objects("denied")) == 18


def test_fight_over_an_object_is_told_and_slows_down(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("fought", plan="basic")
    platform.await_active(manifest)

    def fight() -> Manifest | None:
        platform.patch("ResourceQuota", "tenant-fought", "tenant-quota", {"spec": {"hard": {"cpu": "64"}}})
        tenant = platform.tenant(manifest) or {}
        return tenant if condition(tenant, "Ready").get("reason") == "DriftContested" else None

    tenant = eventually(fight, "the status tells of the fight")
    told = condition(tenant, "Ready")["message"]
    assert "ResourceQuota tenant-fought/tenant-quota was put back" in told
    assert condition(tenant, "Drifted")["status"] == "True"
    # Meanwhile, what else goes wrong is still mended.
    platform.remove("NetworkPolicy", "tenant-fought", "default-deny-all")
    platform.patch("ResourceQuota", "tenant-fought", "tenant-quota", {"spec": {"hard": {"cpu": "64"}}})
    eventually(
        lambda: platform.get("NetworkPolicy", "tenant-fought", "default-deny-all"), "the policy is back"
    )
    runs = platform.runs("up") + 1
    # Left alone, it settles by itself: what was edited is put back already.
    platform.await_active(manifest)
    assert platform.runs("up") <= runs


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
    before = platform.runs("up")
    platform.admin.patch(kind_of(manifest), "released", {"metadata": {"finalizers": None}})
    eventually(
        lambda: (platform.tenant(manifest) or {})["metadata"].get("finalizers"), "the finalizer is back"
    )
    assert platform.runs("up") == before


def test_stopped_watcher_lets_an_update_end(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("finishes", namespaces=[{"name": name} for name in "abc"])
    eventually(lambda: platform.objects("finishes"), "an up is under way")
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
        "the pulumi command cannot be used": {"PATH": "/nowhere"},
        "no cluster to talk to": {"KUBECONFIG": "/nowhere"},
        "unable to read PULUMI_CONFIG_PASSPHRASE_FILE": {"PULUMI_CONFIG_PASSPHRASE_FILE": "/nowhere"},
    }
    given = {name: value for name, value in platform.environment.items() if "PASSPHRASE" not in name}
    for told, change in faults.items():
        ended = subprocess.run(
            [sys.executable, "-m", "watcher", "--run-dir", str(platform.folder / "faulty")],
            env={**given, "PULUMI_CONFIG_PASSPHRASE_FILE": str(passphrase), **change},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert ended.returncode == 2, ended.stderr
        assert told in ended.stderr
        assert len(ended.stderr.splitlines()) == 1


def test_broken_plans_file_is_refused_at_the_start(platform: Platform) -> None:
    plans = platform.folder / "broken.yaml"
    plans.write_text("plans: {p: {maxNamespaces: none}}")
    told = subprocess.run(
        [sys.executable, "-m", "watcher", "--plans", str(plans)],
        env=platform.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert told.returncode == 2
    assert "plans.p.maxNamespaces" in told.stderr

"""The watcher and `pulumi up` by hand use the identity in the kubeconfig for all requests.

Some kubeconfigs contain the credentials of an account whose only right is to impersonate the watcher's
service account. The API server would reject a request without impersonation.
"""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.client import Cluster
from cluster.errors import ClusterError
from embedded.controlplane.kubeconfig import write_kubeconfig
from tenancy.base.kinds import TENANTS
from tenancy.base.platform_names import SYSTEM_NAMESPACE, WATCHER
from tests.cluster.connect_proxy import connect_proxy
from tests.kubeconfigs import allow, changed_kubeconfig, impersonator_token
from tests.platform import NewTenant, Platform, tenant_manifest
from tests.waiting import eventually

Completed = subprocess.CompletedProcess[str]

WATCHER_USER = f"system:serviceaccount:{SYSTEM_NAMESPACE}:{WATCHER}"
HAND = tenant_manifest("idhand", plan="basic")
UP = ("up", "--yes", "--skip-preview")


@pytest.fixture(scope="module")
def impersonator(running_platform: Platform) -> Path:
    """A kubeconfig that impersonates the watcher's service account."""
    path = running_platform.folder / "impersonator.kubeconfig"
    token = impersonator_token(running_platform.admin, "impersonator")
    fields = {"token": token, "as": WATCHER_USER}
    changed_kubeconfig(running_platform.admin_kubeconfig, path, fields)
    eventually(lambda: can_list_tenants(path), "the role is effective")
    return path


@pytest.fixture(scope="module")
def reader(running_platform: Platform) -> Path:
    """The administrator's kubeconfig with impersonation of a user who can read all objects."""
    rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}]
    allow(running_platform.admin, "idreader", "idreader", rules)
    path = running_platform.folder / "reader.kubeconfig"
    changed_kubeconfig(running_platform.admin_kubeconfig, path, {"as": "idreader"})
    eventually(lambda: can_list_tenants(path), "the role is effective")
    return path


def can_list_tenants(kubeconfig: Path) -> bool:
    try:
        Cluster.connect(kubeconfig).list(TENANTS[0], name="none")
    except ClusterError:
        return False
    return True


def test_watcher_reads_and_writes_with_the_identity_of_its_kubeconfig(
    platform: Platform, new_tenant: NewTenant, impersonator: Path
) -> None:
    platform.stop()
    with connect_proxy() as proxy:
        fields = {"proxy-url": f"http://127.0.0.1:{proxy.port}"}
        kubeconfig = changed_kubeconfig(impersonator, platform.folder / "proxied.kubeconfig", cluster=fields)
        # The watcher and Pulumi's provider use the option. They ignore KUBECONFIG.
        platform.start("--kubeconfig", str(kubeconfig), KUBECONFIG="/nowhere")
        try:
            manifest = new_tenant("idwatched")
            platform.await_active(manifest)
            platform.remove("Role", "tenant-idwatched", "tenant-viewer")
            platform.await_condition(manifest, "Repaired", "Drifted")
            platform.expect_applied(manifest)
            assert proxy.targets, "the watcher connects only through the proxy"
        finally:
            platform.stop()
    platform.start()


def test_watcher_with_an_unsupported_kubeconfig_does_not_start(platform: Platform, tmp_path: Path) -> None:
    fields = {"proxy-url": "socks5://127.0.0.1:1"}
    kubeconfig = changed_kubeconfig(platform.admin_kubeconfig, tmp_path / "kubeconfig", cluster=fields)
    result = subprocess.run(
        [sys.executable, "-m", "watcher", "--kubeconfig", str(kubeconfig), "--run-dir", str(tmp_path)],
        env=platform.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 2
    assert f"watcher: {kubeconfig}: context 'embedded': cluster 'embedded': proxy-url: " in result.stderr


@dataclass(frozen=True)
class ByHand:
    """The results of the operator's commands on a changed spec. They ran while the watcher was stopped."""

    # The keys are the names of the commands.
    results: Mapping[str, Completed]
    # The CPU quota after the commands that fail, and the CPU quota after the last command.
    cpu_before: str
    cpu_after: str


@pytest.fixture(scope="module")
def by_hand(running_platform: Platform, impersonator: Path, reader: Path) -> Iterator[ByHand]:
    platform = running_platform
    platform.ensure_started()
    platform.add(HAND)
    platform.await_active(HAND)
    platform.stop()
    platform.apply({**HAND, "spec": {"plan": "pro"}})
    # Run the commands one after the other, because Pulumi stores the settings of a stack in one file.
    results = {
        "context": platform.pulumi(
            "tenant-idhand",
            "preview",
            "--config",
            "kubernetes:context=bob",
            kubeconfig=two_contexts(platform),
        ),
        "setting": platform.pulumi("tenant-idhand", "preview", "--config", "kubernetes:kubeconfig=x"),
        "as reader": platform.pulumi("tenant-idhand", *UP, kubeconfig=reader),
    }
    cpu_before = cpu(platform)
    results["as watcher"] = platform.pulumi("tenant-idhand", *UP, kubeconfig=impersonator)
    cpu_after = cpu(platform)
    platform.start()
    yield ByHand(results, cpu_before, cpu_after)
    platform.verify_and_abandon([HAND])


def two_contexts(platform: Platform) -> Path:
    """The administrator's kubeconfig with an additional context that impersonates bob."""
    document: dict[str, Any] = yaml.safe_load(platform.admin_kubeconfig.read_text())
    context = {"cluster": document["clusters"][0]["name"], "user": "bob"}
    document["users"].append({"name": "bob", "user": {**document["users"][0]["user"], "as": "bob"}})
    document["contexts"].append({"name": "bob", "context": context})
    path = platform.folder / "contexts.kubeconfig"
    write_kubeconfig(path, document)
    return path


def cpu(platform: Platform) -> str:
    quota = platform.objects("idhand")["ResourceQuota", "tenant-idhand", "tenant-quota"]
    return str(quota["spec"]["hard"]["cpu"])


def test_pulumi_by_hand_reads_with_the_identity_of_the_providers_context(by_hand: ByHand) -> None:
    assert by_hand.results["context"].returncode != 0
    assert 'is forbidden: User "bob" cannot' in by_hand.results["context"].stdout


def test_pulumi_by_hand_writes_with_the_identity_of_its_reads(by_hand: ByHand) -> None:
    assert by_hand.results["as reader"].returncode != 0
    assert 'User "idreader" cannot patch resource' in by_hand.results["as reader"].stdout
    assert by_hand.cpu_before == "500m"


def test_pulumi_by_hand_rejects_a_kubeconfig_of_the_provider_alone(by_hand: ByHand) -> None:
    assert by_hand.results["setting"].returncode != 0
    message = "kubernetes:kubeconfig: this program does not support the setting"
    assert message in by_hand.results["setting"].stdout


def test_pulumi_by_hand_has_the_rights_of_the_impersonated_user(by_hand: ByHand) -> None:
    result = by_hand.results["as watcher"]
    assert result.returncode == 0, result.stdout + result.stderr
    assert by_hand.cpu_after == "4"

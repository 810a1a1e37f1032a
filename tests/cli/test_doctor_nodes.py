"""`tenancy doctor` reports dedicated nodes without the label or the taint.

It prints the commands that add them.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.connection import Connection
from cli.doctor.cluster_networks import check_cluster_networks
from cli.doctor.dedicated_nodes import check_dedicated_nodes, pool_findings
from cli.doctor.finding import CheckResult, Level
from tenancy.base.kinds import NAMESPACE, NODE
from tenancy.base.labels import NODE_POOL_LABEL
from tenancy.base.manifest import Manifest
from tests.platform import Platform, tenant_manifest
from tests.shared import shared_tenants

POOL = "doctors-pool"
TENANT = tenant_manifest("doctored", dedicatedNodes=POOL, network={"egress": [{"cidr": "0.0.0.0/0"}]})
SUBJECT = f"dedicated nodes {POOL}"


def node(name: str, label: str = "", taint: str = "", effect: str = "NoSchedule") -> Manifest:
    taints = [{"key": NODE_POOL_LABEL, "value": taint, "effect": effect}] if taint else []
    labels = {NODE_POOL_LABEL: label} if label else {}
    return {"metadata": {"name": name, "labels": labels}, "spec": {"taints": taints}}


@pytest.mark.parametrize(
    ("nodes", "message", "fix"),
    [
        pytest.param(
            [node("a"), node("b", "other", "other")],
            "no node has the label and the taint of this pool",
            f"kubectl label node NODE {NODE_POOL_LABEL}={POOL} && "
            f"kubectl taint node NODE {NODE_POOL_LABEL}={POOL}:NoSchedule",
            id="no node",
        ),
        pytest.param(
            [node("b", POOL), node("a", POOL), node("c", POOL, POOL)],
            "pods of other tenants can run on a, b, because the taint is missing",
            f"kubectl taint node a b {NODE_POOL_LABEL}={POOL}:NoSchedule",
            id="no taint",
        ),
        pytest.param(
            [node("a", POOL, POOL, "PreferNoSchedule")],
            "pods of other tenants can run on a",
            f"kubectl taint node a {NODE_POOL_LABEL}={POOL}:NoSchedule",
            id="taint without effect",
        ),
        pytest.param(
            [node("a", "", POOL), node("b", POOL, POOL)],
            "no pod can run on a, because the label is missing",
            f"kubectl label node a {NODE_POOL_LABEL}={POOL}",
            id="no label",
        ),
    ],
)
def test_missing_label_or_taint_is_a_warning_with_the_command(
    nodes: list[Manifest], message: str, fix: str
) -> None:
    (finding,) = pool_findings(POOL, nodes)
    assert (finding.level, finding.subject, finding.fix) == (Level.WARNING, SUBJECT, fix)
    assert message in finding.message


def test_labelled_and_tainted_nodes_are_ok() -> None:
    (finding,) = pool_findings(POOL, [node("b", POOL, POOL), node("a", POOL, POOL, "NoExecute"), node("c")])
    assert (finding.level, finding.message) == (Level.OK, "labelled and tainted: a, b")


@pytest.fixture(scope="module")
def tenant(running_platform: Platform) -> Iterator[None]:
    with shared_tenants(running_platform, TENANT):
        yield


@pytest.mark.usefixtures("tenant")
def test_printed_commands_prepare_a_node(platform: Platform, tools: dict[str, Path]) -> None:
    def findings() -> list[CheckResult]:
        found = check_dedicated_nodes(Connection(platform.admin_kubeconfig))
        return [finding for finding in found if finding.subject == SUBJECT]

    platform.admin.create(NODE, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "doctored"}})
    try:
        (missing,) = findings()
        subprocess.run(
            ["bash", "-euo", "pipefail", "-c", missing.fix.replace("NODE", "doctored")],
            env={
                "PATH": f"{tools['kubectl'].parent}:/usr/bin:/bin",
                "KUBECONFIG": str(platform.admin_kubeconfig),
            },
            check=True,
        )
        (ready,) = findings()
        assert (ready.level, ready.message) == (Level.OK, "labelled and tainted: doctored")
    finally:
        platform.admin.delete(NODE, "doctored")


@pytest.mark.usefixtures("tenant")
def test_broad_egress_without_cluster_networks_is_a_warning(platform: Platform) -> None:
    def finding() -> CheckResult:
        (found,) = check_cluster_networks(Connection(platform.admin_kubeconfig))
        return found

    def set_networks(value: str) -> None:
        annotation = {"policy.platform.ai/cluster-networks": value}
        platform.admin.patch(NAMESPACE, "tenancy-system", {"metadata": {"annotations": annotation}})

    installed = finding()
    assert (installed.level, installed.message) == (Level.OK, "10.96.0.0/16, 10.244.0.0/16")
    set_networks("")
    try:
        unset = finding()
        assert unset.level is Level.WARNING
        assert "doctored" in unset.message
        assert "pulumi config set --path 'clusterNetworks[0]'" in unset.fix
    finally:
        set_networks("10.96.0.0/16,10.244.0.0/16")

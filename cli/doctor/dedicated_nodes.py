"""Checks that dedicated nodes have the label and the taint of their node pool.

The setting `dedicatedNodes` of a plan or a tenant contains the name of a node pool. tenancy does not change
nodes. So the results contain the kubectl commands with which an administrator labels and taints the nodes.
"""

from collections.abc import Iterable

from cli.connection import Connection
from cli.doctor.finding import CheckResult, ok, warning
from tenancy.base.kinds import NAMESPACE, NODE
from tenancy.base.labels import MANAGED_SELECTOR, NODE_POOL_LABEL
from tenancy.base.manifest import Manifest
from tenancy.objects.policy_annotations import NODE_POOL


def check_dedicated_nodes(connection: Connection) -> list[CheckResult]:
    namespaces, _ = connection.cluster.list(NAMESPACE, MANAGED_SELECTOR)
    pools = {
        *(plan.dedicated_nodes for plan in connection.plans().plans.values()),
        *((namespace["metadata"].get("annotations") or {}).get(NODE_POOL) for namespace in namespaces),
    } - {None}
    if not pools:
        return [ok("dedicated nodes", "no plan and no tenant uses dedicated nodes")]
    nodes, _ = connection.cluster.list(NODE)
    return [finding for pool in sorted(filter(None, pools)) for finding in pool_findings(pool, nodes)]


def pool_findings(pool: str, nodes: Iterable[Manifest]) -> list[CheckResult]:
    """The results for one node pool. `nodes` are all nodes of the cluster."""
    labelled, tainted = set(), set()
    for node in nodes:
        name = node["metadata"]["name"]
        if (node["metadata"].get("labels") or {}).get(NODE_POOL_LABEL) == pool:
            labelled.add(name)
        if any(_keeps_others_off(taint, pool) for taint in node["spec"].get("taints") or ()):
            tainted.add(name)
    subject = f"dedicated nodes {pool}"
    if not labelled | tainted:
        message = "no node has the label and the taint of this pool, so the pods of its tenants cannot run"
        fix = f"{_label_command(pool, ['NODE'])} && {_taint_command(pool, ['NODE'])}"
        return [warning(subject, message, fix)]
    findings = []
    if missing := sorted(labelled - tainted):
        message = f"pods of other tenants can run on {', '.join(missing)}, because the taint is missing"
        findings.append(warning(subject, message, _taint_command(pool, missing)))
    if missing := sorted(tainted - labelled):
        message = f"no pod can run on {', '.join(missing)}, because the label is missing"
        findings.append(warning(subject, message, _label_command(pool, missing)))
    return findings or [ok(subject, f"labelled and tainted: {', '.join(sorted(labelled))}")]


def _keeps_others_off(taint: Manifest, pool: str) -> bool:
    is_pool = taint["key"] == NODE_POOL_LABEL and taint.get("value") == pool
    return is_pool and taint["effect"] in ("NoSchedule", "NoExecute")


def _label_command(pool: str, names: list[str]) -> str:
    return f"kubectl label node {' '.join(names)} {NODE_POOL_LABEL}={pool}"


def _taint_command(pool: str, names: list[str]) -> str:
    return f"kubectl taint node {' '.join(names)} {NODE_POOL_LABEL}={pool}:NoSchedule"

"""The sample tenants under `examples/`: applying them, and judging what became of them.

Called by `./dev run`. The verdict is drawn from statuses alone.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import yaml

from cluster.client import Cluster, ClusterError
from embedded.environment import ROOT
from embedded.errors import SetupFailed
from embedded.run.tenant_table import phase_of, ready_message
from tenancy.base.kinds import TENANTS
from tenancy.base.manifest import Manifest
from tenancy.spec.tenant_status import Phase

FOLDER = ROOT / "examples"


@dataclass(frozen=True)
class Verdict:
    """Samples that are not Active yet, and those that have failed; each with the reason."""

    waiting: tuple[str, ...]
    failed: tuple[str, ...]


def sample_manifests() -> list[Manifest]:
    files = sorted(FOLDER.glob("*.yaml"))
    return [document for file in files for document in yaml.safe_load_all(file.read_text()) if document]


def apply_samples(cluster: Cluster, manifests: Iterable[Manifest]) -> list[Manifest]:
    """The samples as the API server has them now, with the status that an earlier session left."""
    try:
        return [cluster.apply(manifest) for manifest in manifests]
    except ClusterError as error:
        raise SetupFailed(f"a manifest under {FOLDER} was refused: {error}") from error


def all_tenants(cluster: Cluster) -> list[Manifest]:
    return [tenant for kind in TENANTS for tenant in cluster.list(kind)[0]]


def verdict(applied: Iterable[Manifest], tenants: Iterable[Manifest]) -> Verdict:
    now = {_key(tenant): tenant for tenant in tenants}
    waiting, failed = [], []
    for before in applied:
        tenant = now.get(_key(before))
        reason = f"{before['metadata']['name']}: {ready_message(tenant) if tenant else 'it was deleted'}"
        if tenant is None or (phase_of(tenant) == Phase.FAILED and _is_fresh(tenant, before)):
            failed.append(reason)
        elif phase_of(tenant) != Phase.ACTIVE or not _is_observed(tenant):
            waiting.append(reason)
    return Verdict(tuple(waiting), tuple(failed))


def _key(tenant: Manifest) -> tuple[str, str]:
    return tenant["apiVersion"], tenant["metadata"]["name"]


def _is_fresh(tenant: Manifest, before: Manifest) -> bool:
    """A failure that an earlier session left behind is no verdict: the watcher is about to try again."""
    return bool(tenant["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"])


def _is_observed(tenant: Manifest) -> bool:
    """Otherwise the status speaks of an older spec."""
    return bool(tenant["status"].get("observedGeneration") == tenant["metadata"]["generation"])

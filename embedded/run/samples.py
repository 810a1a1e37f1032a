"""Applies the sample tenants under `examples/`, and checks whether they are Active."""

from collections.abc import Iterable
from dataclasses import dataclass

import yaml

from cli.apply.author import Author, with_annotation
from cli.apply.field_ownership import APPLY_MANAGER
from cli.wait import is_status_current, phase_of, reason_text
from cluster.client import Cluster
from cluster.errors import ClusterError
from embedded.environment import ROOT
from embedded.errors import SetupFailed
from tenancy.base.manifest import Manifest
from tenancy.spec.tenant_status import Phase

FOLDER = ROOT / "examples"


@dataclass(frozen=True)
class SampleOutcome:
    """The sample tenants that are not Active.

    `waiting` lists the tenants that may become Active. `failed` lists the tenants that have failed. Each item
    is a text with the name of the tenant and the reason for its state.
    """

    waiting: tuple[str, ...]
    failed: tuple[str, ...]


def sample_manifests() -> list[Manifest]:
    files = sorted(FOLDER.glob("*.yaml"))
    return [document for file in files for document in yaml.safe_load_all(file.read_text()) if document]


def apply_samples(cluster: Cluster, manifests: Iterable[Manifest]) -> list[Manifest]:
    """Apply the manifests, and return the objects that the API server sends back.

    A sample tenant can exist from an earlier run. The returned object then contains the status from that run.
    """
    try:
        author = Author(cluster, "applied by ./dev run")
        return [_apply(cluster, manifest, author) for manifest in manifests]
    except ClusterError as error:
        raise SetupFailed(f"The API server rejected a manifest under {FOLDER}: {error}") from error


def _apply(cluster: Cluster, manifest: Manifest, author: Author) -> Manifest:
    def send(annotation: str, is_dry_run: bool) -> Manifest:
        annotated = with_annotation(manifest, annotation)
        return cluster.apply(annotated, field_manager=APPLY_MANAGER, is_dry_run=is_dry_run)

    return author.write(cluster, manifest, send)


def sample_outcome(samples: Iterable[Manifest], tenants: Iterable[Manifest]) -> SampleOutcome:
    """Find out which sample tenants are not Active yet, and which have failed.

    `samples` are the objects that `apply_samples` returned. `tenants` are the Tenants that are now in the
    cluster.
    """
    tenant_by_key = {_key(tenant): tenant for tenant in tenants}
    waiting, failed = [], []
    for sample in samples:
        tenant = tenant_by_key.get(_key(sample))
        reason = f"{sample['metadata']['name']}: {reason_text(tenant) if tenant else 'it was deleted'}"
        # The status can contain a failure from an earlier run. The watcher will retry, so this failure does
        # not count. A failure counts only if the Tenant has changed since `apply_samples` has applied it.
        if tenant is None or (phase_of(tenant) == Phase.FAILED and _has_changed(tenant, sample)):
            failed.append(reason)
        elif phase_of(tenant) != Phase.ACTIVE or not is_status_current(tenant):
            waiting.append(reason)
    return SampleOutcome(tuple(waiting), tuple(failed))


def _key(tenant: Manifest) -> tuple[str, str]:
    return tenant["apiVersion"], tenant["metadata"]["name"]


def _has_changed(tenant: Manifest, sample: Manifest) -> bool:
    return bool(tenant["metadata"]["resourceVersion"] != sample["metadata"]["resourceVersion"])

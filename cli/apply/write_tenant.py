"""Writes a Tenant with server-side apply, or predicts the result without writing.

The field manager of `tenancy apply` is `tenancy-cli`. It owns the fields that the applied manifests contain.
With `--force-conflicts`, `tenancy apply` first takes over the fields of all other managers. Fields that the
manifest does not contain are then removed, except for `paused` and `cordoned` if a command has set them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from cli.apply.author import Author, with_annotation
from cli.apply.field_ownership import (
    STATE_MANAGERS,
    ApplyMethod,
    managers_of,
    other_fields,
    own_fields,
    transferred_managed_fields,
)
from cli.apply.merged_spec import (
    conflicting_paths,
    kept_paths,
    kubectl_apply_spec,
    path_text,
    server_side_spec,
)
from cluster.client import Cluster
from cluster.errors import ClusterError
from tenancy.base.errors import Rejection
from tenancy.base.kinds import kind_of
from tenancy.base.manifest import Manifest

_CONFLICT: Final = 409
_INVALID: Final = 422
# The number of attempts to take over fields. An attempt fails if the Tenant's resource version has changed in
# the meantime, for example because the watcher has written the status.
_ATTEMPTS: Final = 5
# Metadata that the API server sets. The output of `kubectl get -o yaml` has it, but it must not be applied.
_SERVER_SET_METADATA: Final = (
    "creationTimestamp",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "uid",
)


class FieldConflict(Rejection):
    """Another field manager has set fields of the manifest to other values."""

    reason = "FieldConflict"


@dataclass(frozen=True)
class Prediction:
    """The Tenant that would result if a manifest were applied."""

    tenant: Manifest
    # Fields that stay although the manifest does not contain them, with the managers that own them.
    kept: tuple[str, ...] = ()


def predicted_tenant(
    cluster: Cluster | None, live: Manifest | None, manifest: Manifest, method: ApplyMethod
) -> Prediction:
    """Predict the Tenant that results if the manifest is applied. Writes nothing.

    `live` is the live Tenant, or None if the Tenant does not exist. The API server computes or checks the
    result in a dry run. If `cluster` is None, there is no dry run, and the result is computed from the
    managedFields of the live Tenant.

    Raises FieldConflict if another manager has set a field of the manifest to another value. Raises
    ClusterError if the API server rejects the Tenant.
    """
    manifest = without_server_fields(manifest)
    if live is None:
        return Prediction(manifest if cluster is None else _send(cluster, manifest, method, is_dry_run=True))
    _check_conflicts(live, manifest, method)
    must_take_over = transferred_managed_fields(live, _spec(manifest), method) is not None
    if cluster is None or must_take_over or method.is_client_side:
        result = {**live, "spec": _computed_spec(live, _spec(manifest), method)}
        if cluster is not None:
            result = _dry_run(cluster, result, method)
    else:
        result = _send(cluster, manifest, method, is_dry_run=True)
    return Prediction(result, tuple(_kept(live, manifest, result, method)))


def write_tenant(
    cluster: Cluster, live: Manifest | None, manifest: Manifest, method: ApplyMethod, author: Author
) -> Manifest:
    """Apply the manifest, and return the new Tenant.

    `live` is the live Tenant, or None if the Tenant does not exist. Raises FieldConflict if another manager
    has set a field of the manifest to another value. Raises ClusterError if the API server rejects the
    Tenant.
    """
    manifest = without_server_fields(manifest)
    for _ in range(_ATTEMPTS):
        if live is None:
            break
        _check_conflicts(live, manifest, method)
        managed_fields = transferred_managed_fields(live, _spec(manifest), method)
        if managed_fields is None or _take_over(cluster, live, managed_fields, method):
            break
        live = cluster.get(kind_of(manifest), manifest["metadata"]["name"])

    def send(annotation: str, is_dry_run: bool) -> Manifest:
        return _send(cluster, with_annotation(manifest, annotation), method, is_dry_run=is_dry_run)

    return author.write(cluster, manifest, send)


def without_server_fields(manifest: Manifest) -> Manifest:
    """A copy of the manifest without the status, the author annotation, and metadata from the API server."""
    metadata = {
        field: value for field, value in manifest["metadata"].items() if field not in _SERVER_SET_METADATA
    }
    fields = {field: value for field, value in manifest.items() if field != "status"}
    return with_annotation({**fields, "metadata": metadata}, "")


def _computed_spec(live: Manifest, new: Manifest, method: ApplyMethod) -> Manifest:
    if method.is_client_side:
        return kubectl_apply_spec(live, new)
    own, others = own_fields(live, new, method), other_fields(live, new, method)
    return server_side_spec(live["spec"], new, own, others)


def _check_conflicts(live: Manifest, manifest: Manifest, method: ApplyMethod) -> None:
    """Raise FieldConflict if other managers have set fields of the manifest to other values.

    The message names these fields and managers. A forced or client-side apply has no conflicts.
    """
    if method.is_forced or method.is_client_side:
        return
    others = other_fields(live, _spec(manifest), method)
    paths = list(conflicting_paths(live["spec"], _spec(manifest), others))
    if not paths:
        return
    entries = [entry for path in paths for entry in managers_of(live, path) if not method.is_own(entry)]
    managers = {f"{entry['manager']} at {entry.get('time', 'an unknown time')}" for entry in entries}
    raise FieldConflict(
        path_text(paths[0]),
        f"{', '.join(map(path_text, paths))}: set to another value by {', '.join(sorted(managers))}; remove "
        "these fields from the manifest, or run `tenancy apply --force-conflicts` to take over all fields",
    )


def _kept(live: Manifest, manifest: Manifest, result: Manifest, method: ApplyMethod) -> Iterator[str]:
    """The fields that stay, although the manifest does not contain them, with the managers that own them.

    An example is `spec.network (set by kubectl-edit)`.
    """
    for path in kept_paths(result["spec"], _spec(manifest)):
        entries = [
            entry
            for entry in managers_of(live, path)
            if not method.is_own(entry) and not method.is_taken_over(entry)
        ]
        managers = sorted({entry["manager"] for entry in entries} - STATE_MANAGERS)
        if managers:
            yield f"{path_text(path)} (set by {', '.join(managers)})"


def _take_over(cluster: Cluster, live: Manifest, managed_fields: list[Manifest], method: ApplyMethod) -> bool:
    """Write the managedFields of the Tenant. Returns False if the Tenant has changed since it was read."""
    patch = [
        {"op": "test", "path": "/metadata/resourceVersion", "value": live["metadata"]["resourceVersion"]},
        {"op": "replace", "path": "/metadata/managedFields", "value": managed_fields},
    ]
    try:
        cluster.patch(kind_of(live), live["metadata"]["name"], patch, field_manager=method.manager)
    except ClusterError as error:
        if error.status not in (_CONFLICT, _INVALID):
            raise
        return False
    return True


def _dry_run(cluster: Cluster, result: Manifest, method: ApplyMethod) -> Manifest:
    """Write `result` in a dry run. Returns the Tenant with the defaults that the API server sets.

    Raises ClusterError if the API server rejects the spec.
    """
    patch = [{"op": "replace", "path": "/spec", "value": result["spec"]}]
    name, manager = result["metadata"]["name"], method.manager
    return cluster.patch(kind_of(result), name, patch, field_manager=manager, is_dry_run=True)


def _send(cluster: Cluster, manifest: Manifest, method: ApplyMethod, *, is_dry_run: bool) -> Manifest:
    return cluster.apply(
        manifest, field_manager=method.manager, is_forced=method.is_forced, is_dry_run=is_dry_run
    )


def _spec(manifest: Manifest) -> Manifest:
    spec: Manifest = manifest.get("spec") or {}
    return spec

"""Client of the Kubernetes API. It has a method for each API verb, and accepts objects of all kinds.

Objects are dicts. Callers decide whether to retry a failed request.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import urllib3

from cluster.connection.impersonation import NO_IMPERSONATION, Impersonation
from cluster.connection.transport import JSON, Transport, json_lines
from cluster.errors import ClusterError, WatchExpired
from tenancy.base.kinds import POD, Kind, kind_of
from tenancy.base.manifest import Manifest
from tenancy.base.names import FIELD_MANAGER, WATCHER_FIELD_MANAGER

_WATCH_TIMEOUT_S: Final = 300
_PAGE_SIZE: Final = 500
# Requests only the metadata of objects, because the schema of a CRD can be megabytes long.
_METADATA_ONLY: Final = "application/json;as={};g=meta.k8s.io;v=v1"
# Code, agent and text of a Warning header. The text is quoted like a JSON string.
_WARNING: Final = re.compile(r'\d+ \S+ ("(?:[^"\\]|\\.)*")')

# An alias, because the method `Cluster.list` hides the built-in `list` in annotations.
Manifests = list[Manifest]


class Cluster:
    """A client of one API server, with one identity. Thread-safe."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @classmethod
    def connect(
        cls,
        kubeconfig: Path | None = None,
        context: str | None = None,
        impersonation: Impersonation = NO_IMPERSONATION,
    ) -> "Cluster":
        """Create a client for a context of a kubeconfig. Sends no request.

        By default, uses the current context of kubectl's kubeconfig. If kubectl has no current context, uses
        the service account of the pod. If a field of `impersonation` is set, it overrides the field in the
        kubeconfig. Raises ClusterError if there is no usable configuration.
        """
        return cls(Transport.connect(kubeconfig, context, impersonation))

    def with_timeout(self, timeout_s: float) -> "Cluster":
        """A client of the same API server that waits at most this long for each response."""
        return Cluster(Transport(self._transport.api, timeout_s))

    def version(self) -> Manifest:
        """The version of the API server: the response to `GET /version`."""
        return self._transport.request("GET", "/version")

    def api_version(self, group: str) -> str:
        """The preferred version of an API group, such as `apps/v1`. For the core group, `group` is empty."""
        if not group:
            return "v1"
        return str(self._transport.request("GET", f"/apis/{group}")["preferredVersion"]["groupVersion"])

    def get(self, kind: Kind, name: str, namespace: str = "") -> Manifest | None:
        """The object, or None if it does not exist."""
        try:
            return self._transport.request("GET", kind.path(namespace, name))
        except ClusterError as error:
            if error.status == 404:
                return None
            raise

    def list(
        self,
        kind: Kind,
        selector: str = "",
        *,
        namespace: str = "",
        name: str = "",
        fields: str = "",
        is_metadata_only: bool = False,
    ) -> tuple[Manifests, str]:
        """All objects of a kind that match the selectors, and the resource version to watch from.

        `selector` is a label selector, and `fields` is a field selector. `name` restricts the list to one
        object, and is ignored if `fields` is set. The resource version is empty if the server omits it.
        """
        accept = _METADATA_ONLY.format("PartialObjectMetadataList") if is_metadata_only else JSON
        items: Manifests = []
        query = {
            "limit": str(_PAGE_SIZE),
            "labelSelector": selector,
            "fieldSelector": fields or _name_selector(name),
        }
        while True:
            page = self._transport.request("GET", kind.path(namespace), query, accept=accept)
            # Aggregated API servers may return null instead of an empty list.
            for item in page["items"] or ():
                # The items of a list have no apiVersion and kind.
                items.append({**item, "apiVersion": kind.api_version, "kind": kind.kind})
            metadata = page["metadata"]
            if not metadata.get("continue"):
                return items, metadata.get("resourceVersion", "")
            query["continue"] = metadata["continue"]

    def watch(
        self,
        kind: Kind,
        version: str,
        selector: str = "",
        *,
        namespace: str = "",
        name: str = "",
        is_metadata_only: bool = False,
    ) -> Iterator[tuple[str, Manifest]]:
        """Yield the type and the object of each watch event since the resource version `version`.

        Ends when the server closes the stream. The events include bookmarks. Raises WatchExpired if the watch
        cannot continue from `version`.
        """
        query = {
            "watch": "true",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(_WATCH_TIMEOUT_S),
            "labelSelector": selector,
            "fieldSelector": _name_selector(name),
        }
        accept = _METADATA_ONLY.format("PartialObjectMetadata") if is_metadata_only else JSON
        response = self._transport.send("GET", kind.path(namespace), query, is_stream=True, accept=accept)
        try:
            for event in json_lines(response):
                if event["type"] == "ERROR":
                    status = event["object"]
                    raise WatchExpired(status.get("message", "watch failed"), status.get("code", 0))
                yield event["type"], {**event["object"], "apiVersion": kind.api_version, "kind": kind.kind}
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise ClusterError(f"the watch of {kind.plural} was interrupted: {error}") from None
        finally:
            response.close()

    def log(self, pod: str, namespace: str, container: str, *, is_followed: bool = False) -> Iterator[bytes]:
        """Yield the log of a container, in chunks.

        If `is_followed` is true, continue with new output until the container ends.
        """
        query = {"container": container, "follow": "true" if is_followed else ""}
        # If the log is followed, there is no read timeout: a container may write nothing for hours.
        response = self._transport.send(
            "GET",
            POD.path(namespace, pod, "log"),
            query,
            is_stream=True,
            accept="*/*",
            has_read_timeout=not is_followed,
        )
        try:
            yield from response.stream(amt=None, decode_content=True)
        except urllib3.exceptions.HTTPError as error:
            raise ClusterError(f"the log of pod {namespace}/{pod} was interrupted: {error}") from None
        finally:
            response.close()

    def create(self, kind: Kind, manifest: Manifest) -> Manifest:
        path = kind.path(manifest["metadata"].get("namespace", ""))
        return self._transport.request("POST", path, {"fieldManager": WATCHER_FIELD_MANAGER}, manifest)

    def apply(
        self,
        manifest: Manifest,
        *,
        field_manager: str = FIELD_MANAGER,
        is_forced: bool = True,
        is_dry_run: bool = False,
    ) -> Manifest:
        """Apply the object with server-side apply.

        If `is_forced` is false, and another field manager owns one of the fields, raises ClusterError.
        """
        metadata = manifest["metadata"]
        query = {"fieldManager": field_manager, "force": "true" if is_forced else ""}
        return self._transport.request(
            "PATCH",
            kind_of(manifest).path(metadata.get("namespace", ""), metadata["name"]),
            query | ({"dryRun": "All"} if is_dry_run else {}),
            manifest,
            "application/apply-patch+yaml",
        )

    def patch(
        self,
        kind: Kind,
        name: str,
        change: Manifest | Manifests,
        *,
        namespace: str = "",
        subresource: str = "",
        field_manager: str = WATCHER_FIELD_MANAGER,
        is_dry_run: bool = False,
    ) -> Manifest:
        """Patch the object. A dict is sent as a merge patch, and a list as a JSON patch."""
        form = "json-patch+json" if isinstance(change, list) else "merge-patch+json"
        path = kind.path(namespace, name, subresource)
        query = {"fieldManager": field_manager} | ({"dryRun": "All"} if is_dry_run else {})
        return self._transport.request("PATCH", path, query, change, f"application/{form}")

    def warnings(self, kind: Kind, name: str, change: Manifest) -> tuple[str, ...]:
        """Send a merge patch as a dry run, and return the warnings in the API server's response."""
        form = "application/merge-patch+json"
        response = self._transport.send("PATCH", kind.path("", name), {"dryRun": "All"}, change, form)
        matches = [_WARNING.match(header) for header in response.headers.getlist("Warning")]
        return tuple(json.loads(match[1]) for match in matches if match)

    def delete(
        self,
        kind: Kind,
        name: str,
        namespace: str = "",
        uid: str | None = None,
        *,
        is_foreground: bool = False,
        is_dry_run: bool = False,
    ) -> None:
        """Delete an object and its dependents. Do nothing if the object does not exist.

        If `uid` is set, and the live object has another uid, do nothing. If `is_foreground` is true, the API
        server deletes the dependents first.
        """
        # The policy is explicit, because deleting a Job orphans its pods by default.
        options: Manifest = {"propagationPolicy": "Foreground" if is_foreground else "Background"}
        if is_dry_run:
            options["dryRun"] = ["All"]
        if uid:
            options["preconditions"] = {"uid": uid}
        try:
            self._transport.request("DELETE", kind.path(namespace, name), body=options)
        except ClusterError as error:
            if error.status not in (404, 409):
                raise


def _name_selector(name: str) -> str:
    return f"metadata.name={name}" if name else ""

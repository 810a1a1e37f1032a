"""Client of the Kubernetes API. No other module sends requests to it.

Objects are dicts. Callers decide whether to retry a failed request.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import urllib3
import yaml
from kubernetes import client, config

from tenancy.base.kinds import Kind, kind_of
from tenancy.base.manifest import Manifest
from tenancy.base.names import FIELD_MANAGER

_WATCH_TIMEOUT_S: Final = 300
_CONNECT_TIMEOUT_S: Final = 5
_READ_TIMEOUT_S: Final = 30
# The API server sends a bookmark about once a minute: after a longer silence, the connection is lost.
_WATCH_READ_TIMEOUT_S: Final = 90
_PAGE_SIZE: Final = 500
# Repeat only reads that the server asks to repeat, by Retry-After.
_RETRIES: Final = urllib3.Retry(
    total=2,
    connect=False,
    read=False,
    redirect=False,
    other=0,
    status=2,
    allowed_methods=["GET"],
    raise_on_status=False,
    retry_after_max=5,
)
_JSON: Final = "application/json"
# Only the metadata of objects: the schema of one CRD can have megabytes.
_METADATA_ONLY: Final = "application/json;as={};g=meta.k8s.io;v=v1"
# Code, agent and text of a Warning header. The text is quoted like a JSON string.
_WARNING: Final = re.compile(r'\d+ \S+ ("(?:[^"\\]|\\.)*")')
# The errors of the client library for a missing or malformed kubeconfig.
_BAD_CONFIG: Final = (config.ConfigException, yaml.YAMLError, TypeError, ValueError)

# An alias, because the method `Cluster.list` hides the built-in `list` in annotations.
Manifests = list[Manifest]
Body = Manifest | Manifests


class ClusterError(Exception):
    """A request failed. `status` is the HTTP status, or 0 if there was no response."""

    reason = "ClusterRefused"

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status

    @property
    def is_refusal(self) -> bool:
        """Whether a retry of the same request would fail again: it is invalid, forbidden or denied."""
        return self.status in (400, 403, 422)


class WatchExpired(ClusterError):
    """The watch cannot continue from its resource version. List again."""


class Cluster:
    """A client of one API server, with one identity. Thread-safe."""

    def __init__(self, api: client.ApiClient) -> None:
        self._api = api

    @classmethod
    def connect(cls, kubeconfig: Path | None = None, context: str | None = None) -> "Cluster":
        """The client for a kubeconfig and context. By default those of kubectl, or the pod's service account.

        Raises ClusterError if there is no usable configuration. Sends no request.
        """
        settings = client.Configuration()
        try:
            path = str(kubeconfig) if kubeconfig else None
            config.load_kube_config(path, context=context, client_configuration=settings)
        except _BAD_CONFIG as error:
            try:
                if kubeconfig or context:
                    raise
                config.load_incluster_config(settings)
            except _BAD_CONFIG:
                problem = str(error).rstrip(".")
                raise ClusterError(f"no usable kubeconfig: {problem}; set KUBECONFIG") from None
        settings.connection_pool_maxsize = 64
        settings.retries = _RETRIES
        return cls(client.ApiClient(settings))

    def version(self) -> Manifest:
        """The version of the API server, as it reports it."""
        return self._request("GET", "/version")

    def get(self, kind: Kind, name: str, namespace: str = "") -> Manifest | None:
        """The object, or None if it does not exist."""
        try:
            return self._request("GET", kind.path(namespace, name))
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
        """All objects of a kind that match, and the resource version to watch from.

        `selector` is a label selector and `fields` a field selector. `name` restricts the list to one object;
        `fields` overrides it. The resource version is empty if the server returns none.
        """
        accept = _METADATA_ONLY.format("PartialObjectMetadataList") if is_metadata_only else _JSON
        items: Manifests = []
        query = {
            "limit": str(_PAGE_SIZE),
            "labelSelector": selector,
            "fieldSelector": fields or _name_selector(name),
        }
        while True:
            page = self._request("GET", kind.path(namespace), query, accept=accept)
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
        """Watch events since `version`, including bookmarks, until the server closes the stream.

        Raises WatchExpired if the watch cannot continue from `version`.
        """
        query = {
            "watch": "true",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(_WATCH_TIMEOUT_S),
            "labelSelector": selector,
            "fieldSelector": _name_selector(name),
        }
        accept = _METADATA_ONLY.format("PartialObjectMetadata") if is_metadata_only else _JSON
        response = self._send("GET", kind.path(namespace), query, is_stream=True, accept=accept)
        try:
            for event in _json_lines(response):
                if event["type"] == "ERROR":
                    status = event["object"]
                    raise WatchExpired(status.get("message", "watch failed"), status.get("code", 0))
                yield event["type"], {**event["object"], "apiVersion": kind.api_version, "kind": kind.kind}
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise ClusterError(f"the watch of {kind.plural} was interrupted: {error}") from None
        finally:
            response.close()

    def create(self, kind: Kind, manifest: Manifest) -> Manifest:
        return self._request("POST", kind.path(manifest["metadata"].get("namespace", "")), body=manifest)

    def apply(
        self,
        manifest: Manifest,
        *,
        field_manager: str = FIELD_MANAGER,
        is_forced: bool = True,
        is_dry_run: bool = False,
    ) -> Manifest:
        """Apply the object with server-side apply.

        If not forced, a field that another manager set to a different value is a conflict.
        """
        metadata = manifest["metadata"]
        query = {"fieldManager": field_manager, "force": "true" if is_forced else ""}
        return self._request(
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
        change: Body,
        *,
        namespace: str = "",
        subresource: str = "",
        field_manager: str = "",
    ) -> Manifest:
        """Patch the object: with a merge patch if `change` is a dict, with a JSON patch if it is a list.

        Without a field manager, the API server uses the client's name.
        """
        form = "json-patch+json" if isinstance(change, list) else "merge-patch+json"
        path = kind.path(namespace, name, subresource)
        return self._request("PATCH", path, {"fieldManager": field_manager}, change, f"application/{form}")

    def warnings(self, kind: Kind, name: str, change: Manifest) -> tuple[str, ...]:
        """The API server's warnings about a merge patch, which is sent as a dry run. Changes nothing."""
        form = "application/merge-patch+json"
        response = self._send("PATCH", kind.path("", name), {"dryRun": "All"}, change, form)
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
    ) -> None:
        """Delete an object and its dependents. Do nothing if it does not exist or its uid is not `uid`.

        With foreground deletion, the object remains until its dependents are deleted.
        """
        # Explicit, because deleting a Job orphans its pods by default.
        options: Manifest = {"propagationPolicy": "Foreground" if is_foreground else "Background"}
        if uid:
            options["preconditions"] = {"uid": uid}
        try:
            self._request("DELETE", kind.path(namespace, name), body=options)
        except ClusterError as error:
            if error.status not in (404, 409):
                raise

    def _request(
        self,
        method: str,
        path: str,
        query: dict[str, str] | None = None,
        body: Body | None = None,
        content_type: str = _JSON,
        accept: str = _JSON,
    ) -> Manifest:
        response = self._send(method, path, query or {}, body, content_type, accept=accept)
        try:
            result: Manifest = json.loads(response.data)
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise ClusterError(f"cannot read the API server's response: {error}") from None
        return result

    def _send(
        self,
        method: str,
        path: str,
        query: dict[str, str],
        body: Body | None = None,
        content_type: str = _JSON,
        is_stream: bool = False,
        accept: str = _JSON,
    ) -> Any:
        try:
            return self._api.call_api(
                path,
                method,
                query_params=[(key, value) for key, value in query.items() if value],
                header_params={"Content-Type": content_type, "Accept": accept},
                body=body,
                auth_settings=["BearerToken"],
                _preload_content=False,
                _return_http_data_only=True,
                _request_timeout=(
                    _CONNECT_TIMEOUT_S,
                    _WATCH_READ_TIMEOUT_S if is_stream else _READ_TIMEOUT_S,
                ),
            )
        except client.ApiException as error:
            error_class = WatchExpired if error.status == 410 else ClusterError
            raise error_class(_error_message(error), error.status or 0) from None
        except urllib3.exceptions.HTTPError as error:
            raise ClusterError(f"no answer from the API server: {error}") from None


def _name_selector(name: str) -> str:
    return f"metadata.name={name}" if name else ""


def _json_lines(response: Any) -> Iterator[Any]:
    """The JSON documents of a stream, one per line. A chunk may end within a line."""
    rest = b""
    for chunk in response.stream(amt=None, decode_content=True):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield json.loads(line)


def _error_message(error: client.ApiException) -> str:
    try:
        return str(json.loads(error.body)["message"])
    except (TypeError, ValueError, KeyError):
        return f"{error.status} {error.reason}"

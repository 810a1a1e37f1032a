"""The client of the Kubernetes API: the only module that sends requests to it.

Objects are plain data. No request is retried: callers decide whether to try again.
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

_WATCH_S: Final = 300
# Bookmarks come about once a minute: a longer silence means that the connection is dead.
_SILENCE_S: Final = 90
_REQUEST_S: Final = 30
_PAGE: Final = 500
_JSON: Final = "application/json"
# Objects without all but their metadata: a CRD's schema alone may be of megabytes.
_METADATA: Final = "application/json;as={};g=meta.k8s.io;v=v1"
# Code, agent, text: the text is quoted as JSON's are.
_WARNING: Final = re.compile(r'\d+ \S+ ("(?:[^"\\]|\\.)*")')
# What the client raises for a kubeconfig that is absent, or is none.
_BAD_CONFIG: Final = (config.ConfigException, yaml.YAMLError, TypeError, ValueError)

# Named, because `list` is a verb of the cluster's below.
Manifests = list[Manifest]
Body = Manifest | Manifests


class ClusterError(Exception):
    """A request failed. `status` is the HTTP status, 0 where there was no answer."""

    reason = "ClusterRefused"

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status

    @property
    def is_refusal(self) -> bool:
        """Whether the same request will fail again: forbidden, denied or invalid."""
        return self.status in (400, 403, 422)


class WatchExpired(ClusterError):
    """The watch can't go on from where it was: list again."""


class Cluster:
    """One API server, as one identity."""

    def __init__(self, api: client.ApiClient) -> None:
        self._api = api

    @classmethod
    def connect(cls, kubeconfig: Path | None = None, context: str | None = None) -> "Cluster":
        """By the kubeconfig given, else as kubectl would, else as the pod's own service account."""
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
                told = str(error).rstrip(".")
                raise ClusterError(f"no cluster to talk to: {told}; set KUBECONFIG") from None
        settings.connection_pool_maxsize = 64
        settings.retries = False
        return cls(client.ApiClient(settings))

    def version(self) -> Manifest:
        """What the API server says of its own version."""
        return self._request("GET", "/version")

    def get(self, kind: Kind, name: str, namespace: str = "") -> Manifest | None:
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
        """All objects of a kind, and the version from which a watch goes on; empty where there is none.
        `fields` is a selector of those fields that the API server can select by."""
        accept = _METADATA.format("PartialObjectMetadataList") if is_metadata_only else _JSON
        items: Manifests = []
        query = {"limit": str(_PAGE), "labelSelector": selector, "fieldSelector": fields or _only(name)}
        while True:
            page = self._request("GET", kind.path(namespace), query, accept=accept)
            # Servers of other groups than Kubernetes' own say null for none.
            for item in page["items"] or ():
                # Lists leave out what their items are.
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
        """Events since `version`, bookmarks among them, until the server closes the stream."""
        query = {
            "watch": "true",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(_WATCH_S),
            "labelSelector": selector,
            "fieldSelector": _only(name),
        }
        accept = _METADATA.format("PartialObjectMetadata") if is_metadata_only else _JSON
        response = self._send("GET", kind.path(namespace), query, is_stream=True, accept=accept)
        try:
            for event in _lines(response):
                if event["type"] == "ERROR":
                    status = event["object"]
                    raise WatchExpired(status.get("message", "watch failed"), status.get("code", 0))
                yield event["type"], {**event["object"], "apiVersion": kind.api_version, "kind": kind.kind}
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise ClusterError(f"watch of {kind.plural} broke: {error}") from None
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
        """Server-side apply. Unless forced, a field that another manager has set otherwise is a conflict."""
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
        """By merging a map into the object, or by a list of JSON patch steps. The field manager is the name
        under which the object keeps who wrote what; left out, the server takes the client's."""
        form = "json-patch+json" if isinstance(change, list) else "merge-patch+json"
        path = kind.path(namespace, name, subresource)
        return self._request("PATCH", path, {"fieldManager": field_manager}, change, f"application/{form}")

    def warnings(self, kind: Kind, name: str, change: Manifest) -> tuple[str, ...]:
        """What the API server would warn of if this were merged into the object. Changes nothing."""
        form = "application/merge-patch+json"
        response = self._send("PATCH", kind.path("", name), {"dryRun": "All"}, change, form)
        told = [_WARNING.match(header) for header in response.headers.getlist("Warning")]
        return tuple(json.loads(found[1]) for found in told if found)

    def delete(
        self,
        kind: Kind,
        name: str,
        namespace: str = "",
        uid: str | None = None,
        *,
        is_owner_last: bool = False,
    ) -> None:
        """Deletes an object and what it owns, and only the one with this uid where one is given. Gone already
        is fine. With the owner last, it stays until all it owns is gone."""
        # Said because a Job would otherwise leave its pods behind.
        options: Manifest = {"propagationPolicy": "Foreground" if is_owner_last else "Background"}
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
            raise ClusterError(f"the API server's answer broke off: {error}") from None
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
                _request_timeout=(5, _SILENCE_S if is_stream else _REQUEST_S),
            )
        except client.ApiException as error:
            kind = WatchExpired if error.status == 410 else ClusterError
            raise kind(_problem(error), error.status or 0) from None
        except urllib3.exceptions.HTTPError as error:
            raise ClusterError(f"no answer from the API server: {error}") from None


def _only(name: str) -> str:
    return f"metadata.name={name}" if name else ""


def _lines(response: Any) -> Iterator[Any]:
    """Whole lines of a stream of JSON, however the network cuts it up."""
    rest = b""
    for chunk in response.stream(amt=None, decode_content=True):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield json.loads(line)


def _problem(error: client.ApiException) -> str:
    try:
        return str(json.loads(error.body)["message"])
    except (TypeError, ValueError, KeyError):
        return f"{error.status} {error.reason}"

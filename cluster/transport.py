"""Sends HTTP requests to the Kubernetes API. Handles the kubeconfig, TLS, timeouts and errors.

No other module uses the official client library.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import urllib3
import yaml
from kubernetes import client, config

from cluster.errors import ClusterError, WatchExpired
from tenancy.base.manifest import Manifest

JSON: Final = "application/json"
_CONNECT_TIMEOUT_S: Final = 5
_READ_TIMEOUT_S: Final = 30
# The API server sends a bookmark about once a minute. If nothing arrives within this timeout, the connection
# is lost.
_WATCH_READ_TIMEOUT_S: Final = 90
# Retry only GET requests, and only if the response has a Retry-After header.
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
# The errors of the client library for a missing or malformed kubeconfig.
_BAD_CONFIG: Final = (config.ConfigException, yaml.YAMLError, TypeError, ValueError)

Body = Manifest | list[Manifest]


class Transport:
    """Connections to one API server, with one identity. Thread-safe."""

    def __init__(self, api: client.ApiClient) -> None:
        self._api = api

    @classmethod
    def connect(cls, kubeconfig: Path | None = None, context: str | None = None) -> "Transport":
        """Connect with a kubeconfig and context. Sends no request.

        If neither is given, the configuration of kubectl is used. If kubectl has no usable configuration, the
        pod's service account is used. Raises ClusterError if there is no usable configuration at all.
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

    def request(
        self,
        method: str,
        path: str,
        query: dict[str, str] | None = None,
        body: Body | None = None,
        content_type: str = JSON,
        accept: str = JSON,
    ) -> Manifest:
        response = self.send(method, path, query or {}, body, content_type, accept=accept)
        try:
            result: Manifest = json.loads(response.data)
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise ClusterError(f"cannot read the API server's response: {error}") from None
        return result

    def send(
        self,
        method: str,
        path: str,
        query: dict[str, str],
        body: Body | None = None,
        content_type: str = JSON,
        is_stream: bool = False,
        accept: str = JSON,
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


def json_lines(response: Any) -> Iterator[Any]:
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

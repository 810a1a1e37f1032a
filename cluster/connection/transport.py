"""Sends HTTP requests to the Kubernetes API. Handles the kubeconfig, TLS, timeouts and errors.

Only this module uses the official client library, which it imports from `kubernetes_library`.
"""

import contextlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import urllib3
import yaml

from cluster.connection.impersonation import NO_IMPERSONATION, Impersonation
from cluster.connection.kubeconfig import Context, Entry, NoContext, read_context
from cluster.connection.kubernetes_library import client, config
from cluster.connection.nested_json import parsed_json
from cluster.connection.proxy import Proxy, proxy_of_context, proxy_of_environment
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
# The errors of the client library for a malformed kubeconfig.
_BAD_CONFIG: Final = (
    config.ConfigException,
    yaml.YAMLError,
    TypeError,
    ValueError,
    LookupError,
    AttributeError,
)
# The fields of a user in a kubeconfig that contain credentials, or that define how to get them.
_CREDENTIALS: Final = (
    "client-certificate",
    "client-certificate-data",
    "token",
    "username",
    "auth-provider",
    "exec",
)

Body = Manifest | list[Manifest]


class _ImpersonatingClient(client.ApiClient):  # type: ignore[misc]
    """A client of the official client library that adds the impersonation headers to each request."""

    def __init__(self, settings: client.Configuration, impersonation: Impersonation) -> None:
        super().__init__(settings)
        self._headers = impersonation.headers()

    def request(self, *arguments: Any, headers: Mapping[str, str], **options: Any) -> Any:
        # The library's default headers are a dict, which cannot contain a name twice.
        all_headers = urllib3.HTTPHeaderDict(headers)
        for name, value in self._headers:
            all_headers.add(name, value)
        return super().request(*arguments, headers=all_headers, **options)


class Transport:
    """Sends requests to one API server as one user. Thread-safe."""

    def __init__(self, api: client.ApiClient, timeout_s: float = _READ_TIMEOUT_S) -> None:
        self.api = api
        self._timeout_s = timeout_s

    @classmethod
    def connect(
        cls,
        kubeconfig: Path | None = None,
        context: str | None = None,
        impersonation: Impersonation = NO_IMPERSONATION,
    ) -> "Transport":
        """Create a Transport for a context of a kubeconfig. Sends no request.

        By default, uses the current context of kubectl's kubeconfig. If kubectl has no current context, uses
        the service account of the pod. If a field of `impersonation` is set, it overrides the field in the
        kubeconfig. Raises ClusterError if there is no usable configuration.
        """
        settings = client.Configuration()
        selected = _context_or_service_account(settings, kubeconfig, context)
        if selected:
            impersonation = selected.impersonation.replaced_by(impersonation)
        if problem := impersonation.problem:
            raise selected.user.error("as", problem) if selected else ClusterError(f"--as: {problem}")
        _set_proxy(settings, proxy_of_context(selected.cluster) if selected else None)
        settings.connection_pool_maxsize = 64
        settings.retries = _RETRIES
        return cls(_ImpersonatingClient(settings, impersonation))

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
            result: Manifest = parsed_json(response.data)
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
        has_read_timeout: bool = True,
    ) -> Any:
        read_timeout_s = _WATCH_READ_TIMEOUT_S if is_stream else self._timeout_s
        connect_timeout_s = min(_CONNECT_TIMEOUT_S, self._timeout_s)
        try:
            return self.api.call_api(
                path,
                method,
                query_params=[(key, value) for key, value in query.items() if value],
                header_params={"Content-Type": content_type, "Accept": accept},
                body=body,
                auth_settings=["BearerToken"],
                _preload_content=False,
                _return_http_data_only=True,
                _request_timeout=(connect_timeout_s, read_timeout_s if has_read_timeout else None),
            )
        except client.ApiException as error:
            error_class = WatchExpired if error.status == 410 else ClusterError
            raise error_class(_error_message(error), error.status or 0) from None
        except urllib3.exceptions.HTTPError as error:
            raise ClusterError(f"no answer from the API server: {error}") from None


def _context_or_service_account(
    settings: client.Configuration, kubeconfig: Path | None, context: str | None
) -> Context | None:
    """Load a context of the kubeconfig into `settings`, and return the context.

    If no kubeconfig and no context are given, and kubectl has no current context, load the service account of
    the pod, and return None.
    """
    try:
        selected = read_context(kubeconfig, context)
    except NoContext as no_context:
        if kubeconfig or context:
            raise
        try:
            config.load_incluster_config(settings)
        except config.ConfigException:
            raise no_context from None
        return None
    _load_context(settings, selected)
    return selected


def _load_context(settings: client.Configuration, context: Context) -> None:
    """Load the server and the credentials of the context into `settings`.

    Raises ClusterError if the context is invalid. The message contains no credentials.
    """
    user = context.user
    try:
        files = os.pathsep.join(map(str, context.files))
        config.load_kube_config(files, context=context.name, client_configuration=settings)
    except _BAD_CONFIG as error:
        # The library's messages contain whole entries of the kubeconfig.
        problem = re.sub(r"/\{.*\}", "", str(error), flags=re.DOTALL).rstrip(".")
        raise ClusterError(f"{user.file}: context {context.name!r}: {problem}") from None
    if not settings.host.startswith("https:"):
        # kubectl sends no credentials without TLS.
        settings.refresh_api_key_hook = None
        settings.api_key.clear()
        return
    if user.text("tokenFile"):
        _use_token_file(settings, user)
    credentials = [field for field in _CREDENTIALS if user.fields.get(field)]
    # The library only logs a failure of an exec plugin. The requests would be anonymous.
    if credentials and not settings.api_key and not settings.cert_file:
        raise user.error(
            ", ".join(credentials),
            "no credentials could be loaded; check that kubectl works with this context",
        )


def _use_token_file(settings: client.Configuration, user: Entry) -> None:
    """Read the token from the file for each request, because the token in the file can be renewed."""
    file = user.file.parent / user.text("tokenFile")

    def read(settings: client.Configuration) -> None:
        settings.api_key["authorization"] = f"Bearer {file.read_text(encoding='utf-8').strip()}"

    def read_again(settings: client.Configuration) -> None:
        with contextlib.suppress(OSError, ValueError):
            read(settings)

    try:
        read(settings)
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or "not UTF-8"
        raise user.error("tokenFile", f"{file}: {problem}") from None
    settings.refresh_api_key_hook = read_again


def _set_proxy(settings: client.Configuration, proxy: Proxy | None) -> None:
    """Use `proxy`, the proxy in the kubeconfig. If it is None, use the proxy in the environment variables."""
    proxy = proxy or proxy_of_environment(settings.host)
    settings.proxy = proxy and proxy.url
    if proxy and proxy.credentials:
        settings.proxy_headers = urllib3.make_headers(proxy_basic_auth=proxy.credentials)


def json_lines(response: Any) -> Iterator[Any]:
    """Parse a stream with one JSON document per line. A chunk of the stream can end within a line."""
    rest = b""
    for chunk in response.stream(amt=None, decode_content=True):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield parsed_json(line)


def _error_message(error: client.ApiException) -> str:
    try:
        return str(json.loads(error.body)["message"])
    except (TypeError, ValueError, KeyError):
        return f"{error.status} {error.reason}"

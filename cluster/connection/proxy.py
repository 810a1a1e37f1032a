"""Selects the HTTP proxy between this process and the API server. The rules are the same as in kubectl."""

import ipaddress
import os
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

from requests.utils import should_bypass_proxies

from cluster.connection.kubeconfig import Entry
from cluster.errors import ClusterError

_SCHEMES: Final = ("http", "https")


@dataclass(frozen=True)
class Proxy:
    """An HTTP proxy. `credentials` is `user:password` or empty. `url` contains no credentials."""

    url: str
    credentials: str = ""


def proxy_of_context(cluster: Entry) -> Proxy | None:
    """The proxy in the field `proxy-url` of the kubeconfig. None if the field is not set.

    Raises ClusterError if the URL is invalid or its scheme is not supported.
    """
    url = cluster.text("proxy-url")
    if not url:
        return None
    try:
        return _proxy(url)
    except ValueError as error:
        raise cluster.error("proxy-url", str(error)) from None


def proxy_of_environment(server: str) -> Proxy | None:
    """The proxy for requests to `server`, from the environment variable HTTPS_PROXY or HTTP_PROXY.

    Returns None in these cases:

    - The variable is not set.
    - The host of `server` is a loopback address.
    - NO_PROXY lists the host of `server`.
    """
    parts = urlsplit(server)
    variable = "HTTPS_PROXY" if parts.scheme == "https" else "HTTP_PROXY"
    url, bypassed = _environment_variable(variable), _environment_variable("NO_PROXY")
    if not url or _is_loopback(parts.hostname or "") or should_bypass_proxies(server, bypassed):
        return None
    try:
        return _proxy(url if "://" in url else f"http://{url}")
    except ValueError as error:
        raise ClusterError(f"{variable}: {error}") from None


def _environment_variable(name: str) -> str:
    """The value of an environment variable. Empty if the variable is not set.

    `name` is in upper case. If the variable with this name is not set, the function uses the variable with
    the same name in lower case.
    """
    return os.environ.get(name) or os.environ.get(name.lower()) or ""


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _proxy(url: str) -> Proxy:
    """Parse the URL of a proxy. Raises ValueError if the URL cannot be used.

    The error message does not contain the URL, because the URL can contain credentials.
    """
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises ValueError if the port is not a number
    except ValueError:
        raise ValueError("not a valid URL; use http://HOST:PORT or https://HOST:PORT") from None
    if parts.scheme not in _SCHEMES or not parts.hostname:
        scheme = f"the proxy scheme {parts.scheme!r}" if parts.hostname else "a URL without a host"
        raise ValueError(f"tenancy does not support {scheme}; use http://HOST:PORT or https://HOST:PORT")
    credentials, _, address = parts.netloc.rpartition("@")
    return Proxy(f"{parts.scheme}://{address}", unquote(credentials))

"""The HTTP proxy between this process and the API server, selected with kubectl's rules."""

import ipaddress
import os
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

from requests.utils import should_bypass_proxies

from cluster.errors import ClusterError
from cluster.kubeconfig import Entry

_SCHEMES: Final = ("http", "https")


@dataclass(frozen=True)
class Proxy:
    """An HTTP proxy. The URL contains no credentials. They are `user:password`, or empty."""

    url: str
    credentials: str = ""


def proxy_of_context(cluster: Entry) -> Proxy | None:
    """The proxy in the field `proxy-url`. Raises ClusterError if its scheme is not supported."""
    url = cluster.text("proxy-url")
    if not url:
        return None
    try:
        return _proxy(url)
    except ValueError as error:
        raise cluster.error("proxy-url", str(error)) from None


def proxy_of_environment(server: str) -> Proxy | None:
    """The proxy in HTTPS_PROXY or HTTP_PROXY for a server.

    Loopback addresses and the hosts in NO_PROXY have no proxy.
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
    """The value of a proxy variable, whose name can also be in lower case."""
    return os.environ.get(name) or os.environ.get(name.lower()) or ""


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _proxy(url: str) -> Proxy:
    """Raises ValueError without the URL, which can contain credentials."""
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

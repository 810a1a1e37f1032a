"""Limits how many tokens of one client the watcher checks with the API server.

The limit does not apply to tokens that the API server has accepted in the last hour. A client is an IPv4
address, or a /64 network of IPv6 addresses. All users behind one proxy are one client.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final

from anyio import CapacityLimiter
from cachetools import TTLCache

from watcher.page.request_checks import RequestRejected

_CHECKS_AT_ONCE: Final = 2
_MAX_WAITING: Final = 100
_MAX_REJECTED_TOKENS: Final = 20
_PAUSE_S: Final = 60
_MAX_CLIENTS: Final = 4096


class ClientLimits:
    """Counts the running token checks and the rejected tokens of each client. Not thread-safe."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._limiters: dict[str, CapacityLimiter] = {}
        self._requests: Counter[str] = Counter()
        # The number of rejected tokens. A client is forgotten `_PAUSE_S` after its newest rejected token.
        self._rejected: TTLCache[str, int] = TTLCache(_MAX_CLIENTS, _PAUSE_S, now_s)

    @asynccontextmanager
    async def slot(self, address: str) -> AsyncIterator[None]:
        """Wait until another token of the client may be checked.

        Check the token inside the `async with` block. `address` is the client's IP address. Raises
        RequestRejected if too many requests of the client already wait, or if the API server has rejected too
        many tokens of the client.
        """
        client = client_of(address)
        if self._requests[client] >= _MAX_WAITING or self._has_too_many_rejected(client):
            raise _too_many_tokens()
        self._requests[client] += 1
        limiter = self._limiters.setdefault(client, CapacityLimiter(_CHECKS_AT_ONCE))
        try:
            async with limiter:
                # Other requests of the client may have been rejected while this request waited.
                if self._has_too_many_rejected(client):
                    raise _too_many_tokens()
                yield
        finally:
            self._requests[client] -= 1
            if not self._requests[client]:
                del self._requests[client], self._limiters[client]

    def count_rejected(self, address: str) -> None:
        client = client_of(address)
        self._rejected[client] = self._rejected.get(client, 0) + 1

    def _has_too_many_rejected(self, client: str) -> bool:
        return self._rejected.get(client, 0) >= _MAX_REJECTED_TOKENS


def client_of(address: str) -> str:
    """The client to which an IP address belongs: an IPv4 address, or a network such as `2001:db8::/64`.

    One host can usually use all IPv6 addresses of a /64 network. So these addresses count as one client.
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        return str(parsed.ipv4_mapped or ip_network((parsed, 64), strict=False))
    return address


def _too_many_tokens() -> RequestRejected:
    message = f"too many invalid tokens from your address; try again in {_PAUSE_S} seconds"
    return RequestRejected(429, message, {"Retry-After": str(_PAUSE_S)})

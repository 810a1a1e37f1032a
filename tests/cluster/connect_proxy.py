"""An HTTP proxy for tests. It forwards TCP connections (CONNECT), and records their targets and clients."""

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from embedded.controlplane.loopback import HOST


@dataclass
class ConnectProxy:
    """A running proxy. It records the addresses that it connects to, and the credentials of its clients."""

    port: int = 0
    targets: list[str] = field(default_factory=list)
    authorizations: list[str] = field(default_factory=list)

    async def serve_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request, *headers = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
        target = request.split()[1]
        self.targets.append(target)
        self.authorizations += [
            value
            for name, _, value in (line.partition(": ") for line in headers)
            if name.lower() == "proxy-authorization"
        ]
        host, _, port = target.rpartition(":")
        server_reader, server_writer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(_copy(reader, server_writer), _copy(server_reader, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


@contextmanager
def connect_proxy(tls: ssl.SSLContext | None = None) -> Iterator[ConnectProxy]:
    """Run a proxy on a free port of the loopback address. Without `tls`, the proxy does not use TLS."""
    proxy = ConnectProxy()
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(proxy.serve_client, HOST, 0, ssl=tls))
    proxy.port = server.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield proxy
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        server.close()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()

"""A client of the web page's HTTP API.

It sends requests with a cookie or a token, and reads the event stream.
"""

import http.client
import json
import queue
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from embedded.controlplane.loopback import HOST

# The type and the data of an event.
Event = tuple[str, dict[str, Any]]


# Paths that return data of tenants.
DATA = ("/api/tenants", "/api/tenants/acme", "/api/tenants/acme/history", "/api/usage", "/api/stream")


@dataclass(frozen=True)
class Response:
    status: int
    headers: dict[str, str]
    text: str

    @property
    def data(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self.text)
        return data


@dataclass(frozen=True)
class PageClient:
    port: int
    headers: dict[str, str] = field(default_factory=dict)
    # The local IP address from which the client sends requests.
    source: str = HOST

    def get(self, path: str, **headers: str) -> Response:
        return self.send("GET", path, None, headers)

    def post(self, path: str, data: Any, content_type: str = "application/json", **headers: str) -> Response:
        return self.send("POST", path, json.dumps(data), {"Content-Type": content_type, **headers})

    def send(self, method: str, path: str, body: str | None, headers: dict[str, str]) -> Response:
        connection = http.client.HTTPConnection(HOST, self.port, 60, (self.source, 0))
        try:
            connection.request(method, path, body, {**self.headers, **headers})
            response = connection.getresponse()
            response_headers = {name.lower(): value for name, value in response.getheaders()}
            return Response(response.status, response_headers, response.read().decode())
        finally:
            connection.close()

    def rows(self) -> dict[str, dict[str, Any]]:
        return {row["name"]: row for row in self.get("/api/tenants").data["tenants"]}

    @contextmanager
    def stream(self) -> Iterator["Stream"]:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=60)
        connection.request("GET", "/api/stream", headers=self.headers)
        response = connection.getresponse()
        assert response.status == 200, response.read()
        try:
            yield Stream(response)
        finally:
            # First shut down the connection. Otherwise, `close` would wait for the reader thread.
            if connection.sock is not None:
                connection.sock.shutdown(socket.SHUT_RDWR)
            connection.close()


class Stream:
    """The events of `/api/stream`. A separate thread reads them."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self._response = response
        self._events: queue.Queue[Event] = queue.Queue()
        self.seen: list[Event] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def next(self, event_type: str, name: str, timeout_s: float = 60.0, **fields: Any) -> dict[str, Any]:
        """Wait for the next event of this type about tenant `name` that has these fields.

        Returns the event's data.
        """
        while True:
            try:
                event = self._events.get(timeout=timeout_s)
            except queue.Empty:
                raise AssertionError(
                    f"no {event_type} of {name} with {fields}; received: {self.seen}"
                ) from None
            self.seen.append(event)
            received_type, data = event
            if received_type == event_type and data["name"] == name and fields.items() <= data.items():
                return data

    def latest(self, name: str) -> dict[str, Any] | None:
        """The data of the newest event about this tenant. Adds all received events to `seen`."""
        while not self._events.empty():
            self.seen.append(self._events.get())
        return next((data for _, data in reversed(self.seen) if data["name"] == name), None)

    def await_end(self, timeout_s: float = 60.0) -> None:
        """Wait until the server ends the stream."""
        self._reader.join(timeout_s)
        assert not self._reader.is_alive(), "the stream has not ended"
        while not self._events.empty():
            self.seen.append(self._events.get())

    def _read(self) -> None:
        event_type = ""
        try:
            for line in map(bytes.decode, self._response):
                field_name, _, value = line.rstrip("\r\n").partition(": ")
                if field_name == "event":
                    event_type = value
                elif field_name == "data":
                    self._events.put((event_type, json.loads(value)))
        except (OSError, ValueError, AttributeError):
            return  # The test has closed the connection.


def as_bearer(page: PageClient, token: str) -> PageClient:
    return PageClient(page.port, {"Authorization": f"Bearer {token}"})


def cookie_of(response: Response) -> str:
    return response.headers["set-cookie"].partition(";")[0]


def names(response: Response) -> list[str]:
    return [row["name"] for row in response.data["tenants"]]

"""The page's server as a browser meets it: requests with a cookie or a token, and the stream of changes."""

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

# The kind of an event, and what it carries.
Event = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    text: str

    @property
    def data(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.text)
        return found


@dataclass(frozen=True)
class PageClient:
    port: int
    headers: dict[str, str] = field(default_factory=dict)

    def get(self, path: str, **headers: str) -> Answer:
        return self.send("GET", path, None, headers)

    def post(self, path: str, data: Any, content_type: str = "application/json", **headers: str) -> Answer:
        return self.send("POST", path, json.dumps(data), {"Content-Type": content_type, **headers})

    def send(self, method: str, path: str, body: str | None, headers: dict[str, str]) -> Answer:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=60)
        try:
            connection.request(method, path, body, {**self.headers, **headers})
            answer = connection.getresponse()
            told = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, told, answer.read().decode())
        finally:
            connection.close()

    def rows(self) -> dict[str, dict[str, Any]]:
        return {row["name"]: row for row in self.get("/api/tenants").data["tenants"]}

    @contextmanager
    def stream(self) -> Iterator["Stream"]:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=60)
        connection.request("GET", "/api/stream", headers=self.headers)
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        try:
            yield Stream(answer)
        finally:
            # Closing the file alone would wait for the reader.
            if connection.sock is not None:
                connection.sock.shutdown(socket.SHUT_RDWR)
            connection.close()


class Stream:
    """The events of a stream, from when it was opened."""

    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self._answer = answer
        self._events: queue.Queue[Event] = queue.Queue()
        self.seen: list[Event] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def next(self, kind: str, name: str, timeout_s: float = 60.0, **fields: Any) -> dict[str, Any]:
        """The next event of this kind about this tenant that has these fields."""
        while True:
            try:
                event = self._events.get(timeout=timeout_s)
            except queue.Empty:
                raise AssertionError(f"no {kind} of {name} with {fields}; came: {self.seen}") from None
            self.seen.append(event)
            found, data = event
            if found == kind and data["name"] == name and fields.items() <= data.items():
                return data

    def latest(self, name: str) -> dict[str, Any] | None:
        """The newest that has come about this tenant; all that has come counts as seen."""
        while not self._events.empty():
            self.seen.append(self._events.get())
        return next((data for _, data in reversed(self.seen) if data["name"] == name), None)

    def await_end(self, timeout_s: float = 60.0) -> None:
        """Until the server ends the stream."""
        self._reader.join(timeout_s)
        assert not self._reader.is_alive(), "the stream goes on"
        while not self._events.empty():
            self.seen.append(self._events.get())

    def _read(self) -> None:
        kind = ""
        try:
            for line in map(bytes.decode, self._answer):
                field_name, _, value = line.rstrip("\r\n").partition(": ")
                if field_name == "event":
                    kind = value
                elif field_name == "data":
                    self._events.put((kind, json.loads(value)))
        except (OSError, ValueError, AttributeError):
            return  # The test is over, and has closed it.

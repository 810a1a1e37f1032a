"""Writes objects directly to etcd. So a test can store an object that the current API server would reject."""

import base64
import http.client
import json
import socket
import uuid
from datetime import UTC, datetime
from pathlib import Path

from embedded.controlplane.components import ETCD_SOCKET
from embedded.controlplane.plane import ControlPlane
from tenancy.base.kinds import Kind
from tenancy.base.manifest import Manifest


class _SocketConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=30)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self._path))


def store(plane: ControlPlane, kind: Kind, name: str, namespace: str = "", **body: object) -> Manifest:
    """Store a custom resource without validation, and return it."""
    metadata = {
        "name": name,
        "uid": str(uuid.uuid4()),
        "generation": 1,
        "creationTimestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        **({"namespace": namespace} if namespace else {}),
    }
    manifest = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **body}
    parts = (kind.group, kind.plural, namespace, name)
    key = "/".join(("/registry", *(part for part in parts if part)))
    request = {
        name: base64.b64encode(text.encode()).decode()
        for name, text in (("key", key), ("value", json.dumps(manifest)))
    }
    connection = _SocketConnection(plane.data / ETCD_SOCKET)
    try:
        connection.request("POST", "/v3/kv/put", json.dumps(request))
        response = connection.getresponse()
        assert response.status == http.client.OK, response.read()
    finally:
        connection.close()
    return manifest

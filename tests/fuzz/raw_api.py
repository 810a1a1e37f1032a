"""Sends manifests to the API server as JSON text, without a client library that would validate them."""

import base64
import http.client
import ssl
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

import yaml

from cluster.connection.nested_json import parsed_json
from tenancy.base.kinds import Kind
from tenancy.base.manifest import Manifest

_AT_ONCE = 8


class Answer(NamedTuple):
    """The response to a manifest.

    `stored` is the object that the API server would store. It is None if the API server rejects the manifest.
    """

    text: str
    status: int
    message: str
    stored: Manifest | None


class RawApi:
    """Creates objects with the credentials of a kubeconfig. Sends several requests at the same time."""

    def __init__(self, kubeconfig: Path) -> None:
        document = yaml.safe_load(kubeconfig.read_text())
        cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
        ca = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self._tls = ssl.create_default_context(cadata=ca)
        self._server = urlsplit(cluster["server"])
        self._headers = {"Authorization": f"Bearer {user['token']}", "Content-Type": "application/json"}
        self._local = threading.local()

    def create_all(
        self, kind: Kind, namespace: str, texts: Iterable[str], *, is_dry_run: bool = True
    ) -> list[Answer]:
        # With another validation, the response would have one header for each unknown field. http.client
        # accepts only 100 headers.
        options = {"fieldManager": "fuzz", "fieldValidation": "Ignore"}
        query = urlencode(options | ({"dryRun": "All"} if is_dry_run else {}))
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return list(pool.map(lambda text: self._create(f"{kind.path(namespace)}?{query}", text), texts))

    def _create(self, path: str, text: str) -> Answer:
        connection = self._connection()
        connection.request("POST", path, text.encode(), self._headers)
        response = connection.getresponse()
        data = response.read()
        try:
            document = parsed_json(data)
        except ValueError:
            document = {"message": data.decode(errors="replace")}
        is_accepted = response.status in (200, 201)
        message = "" if is_accepted else str(document.get("message", ""))
        return Answer(text, response.status, message, document if is_accepted else None)

    def _connection(self) -> http.client.HTTPSConnection:
        if not hasattr(self._local, "connection"):
            host, port = self._server.hostname or "", self._server.port
            self._local.connection = http.client.HTTPSConnection(host, port, timeout=60, context=self._tls)
        connection: http.client.HTTPSConnection = self._local.connection
        return connection

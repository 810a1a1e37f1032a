"""Writes kubeconfigs, and other private files. Only the owner of such a file can read it."""

import base64
import os
from pathlib import Path
from typing import Any

import yaml

CONTEXT_NAME = "embedded"


def kubeconfig_document(url: str, ca: bytes, token: str) -> dict[str, Any]:
    """A kubeconfig with one cluster, one user and one context. `ca` is the CA certificate of the server."""
    cluster = {"server": url, "certificate-authority-data": base64.b64encode(ca).decode()}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": CONTEXT_NAME, "cluster": cluster}],
        "users": [{"name": CONTEXT_NAME, "user": {"token": token}}],
        "contexts": [{"name": CONTEXT_NAME, "context": {"cluster": CONTEXT_NAME, "user": CONTEXT_NAME}}],
        "current-context": CONTEXT_NAME,
    }


def write_kubeconfig(path: Path, document: dict[str, Any]) -> None:
    write_private(path, yaml.safe_dump(document, sort_keys=False))


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read (mode 0600). An existing file is replaced atomically."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    with open(temporary, "x", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(text)
    temporary.replace(path)

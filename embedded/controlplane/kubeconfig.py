"""Kubeconfig files: the documents and writing them so that only their owner reads them.

Used by the control plane (the administrator, each component) and by the session (the watcher's own identity).
"""

import base64
import os
from pathlib import Path
from typing import Any

import yaml

CONTEXT_NAME = "embedded"


def kubeconfig_document(url: str, ca: bytes, token: str) -> dict[str, Any]:
    """One cluster, one user, one context; the certificate is inside, so the file can be copied anywhere."""
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
    """Mode 0600 from the first byte on, and never half written for a reader."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    with open(fresh, "x", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(text)
    fresh.replace(path)

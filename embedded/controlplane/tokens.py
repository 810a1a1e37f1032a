"""The API server's token file. It contains a bearer token for each identity of the control plane."""

import csv
import secrets
from pathlib import Path

from embedded.controlplane.components import IDENTITIES, token_file_text
from embedded.controlplane.kubeconfig import write_private


def ensure_tokens(path: Path) -> dict[str, str]:
    """Return the token of each identity, keyed by name.

    If an identity has no token, add a new token to the file.
    """
    stored: dict[str, str] = {}
    if path.exists():
        with path.open(newline="") as file:
            stored = {user: token for token, user, *_ in csv.reader(file)}
    tokens = {name: stored.get(user) or secrets.token_hex(16) for name, (user, _) in IDENTITIES.items()}
    write_private(path, token_file_text(tokens))
    return tokens

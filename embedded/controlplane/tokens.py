"""The tokens by which the API server knows the control plane's identities: made once, then kept in a file.

Called by `plane.py` before a start. Who the identities are stands in `components.py`.
"""

import csv
import secrets
from pathlib import Path

from embedded.controlplane.components import IDENTITIES, token_file
from embedded.controlplane.kubeconfig import write_private


def kept_tokens(path: Path) -> dict[str, str]:
    """A token for each identity: those in the file, and new ones for whom it doesn't know yet."""
    known: dict[str, str] = {}
    if path.exists():
        with path.open(newline="") as file:
            known = {user: token for token, user, *_ in csv.reader(file)}
    tokens = {name: known.get(user) or secrets.token_hex(16) for name, (user, _) in IDENTITIES.items()}
    write_private(path, token_file(tokens))
    return tokens

"""How much work a graph of who reaches whom may be. Pure; used by `reachability_graph`.

Tenants write policies of their own, as many and as large as they like, and the work grows with the fourth
power of them: in the watcher's own process, that must have an end.
"""

import json
from collections.abc import Iterable
from typing import Final

from tenancy.base.manifest import Manifest

# Rules and address blocks that are not the same; there are more of them than a picture can show.
_MAX_PARTS: Final = 500
# Connections times the length of the policies they are put to: about a second.
_MAX_EFFORT: Final = 20_000_000_000


class TooMuch(Exception):
    """The policies are too many, or too large."""


class Effort:
    """What is left to be spent on one graph."""

    def __init__(self, policies: Iterable[Manifest]) -> None:
        distinct = {json.dumps(found["spec"], sort_keys=True) for found in policies}
        if sum(map(_parts, map(json.loads, distinct))) > _MAX_PARTS:
            raise TooMuch
        self._left = _MAX_EFFORT

    def spend(self, connections: int, policies: Iterable[Manifest]) -> None:
        self._left -= connections * sum(len(str(found["spec"])) for found in policies)
        if self._left < 0:
            raise TooMuch


def _parts(spec: Manifest) -> int:
    rules = [*(spec.get("ingress") or ()), *(spec.get("egress") or ())]
    peers = [peer for rule in rules for peer in (*(rule.get("from") or ()), *(rule.get("to") or ()))]
    cuts = sum(len((peer.get("ipBlock") or {}).get("except") or ()) for peer in peers)
    return 1 + len(rules) + len(peers) + cuts

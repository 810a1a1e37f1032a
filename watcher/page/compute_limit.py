"""Limits the CPU time for a reachability graph. No I/O.

The graph shows which connections the NetworkPolicies of a tenant allow. A tenant can create any number of
NetworkPolicies of any size, and the CPU time grows with the fourth power of the total size. The graph is
computed in the watcher's process, which must not be blocked for long.
"""

import json
from collections.abc import Iterable
from typing import Final

from tenancy.base.manifest import Manifest

# The maximum total number of policies, rules, peers and `except` entries. The page cannot draw more. Policies
# with equal specs count only once.
_MAX_PARTS: Final = 500
# The maximum amount of work: the number of tested connections multiplied by the length of the policies in
# characters. This amount takes about one second of CPU time.
_MAX_WORK: Final = 20_000_000_000


class LimitExceeded(Exception):
    """There are too many policies, or the policies are too large."""


class ComputeLimit:
    """Limits the CPU time for one graph.

    `__init__` and `spend` raise LimitExceeded if the graph needs too much CPU time.
    """

    def __init__(self, policies: Iterable[Manifest]) -> None:
        distinct = {json.dumps(policy["spec"], sort_keys=True) for policy in policies}
        if sum(map(_part_count, map(json.loads, distinct))) > _MAX_PARTS:
            raise LimitExceeded
        self._remaining = _MAX_WORK

    def spend(self, connections: int, policies: Iterable[Manifest]) -> None:
        """Count the work of a test. The test checks this number of connections against the policies."""
        self._remaining -= connections * sum(len(str(policy["spec"])) for policy in policies)
        if self._remaining < 0:
            raise LimitExceeded


def _part_count(spec: Manifest) -> int:
    rules = [*(spec.get("ingress") or ()), *(spec.get("egress") or ())]
    peers = [peer for rule in rules for peer in (*(rule.get("from") or ()), *(rule.get("to") or ()))]
    exceptions = sum(len((peer.get("ipBlock") or {}).get("except") or ()) for peer in peers)
    return 1 + len(rules) + len(peers) + exceptions

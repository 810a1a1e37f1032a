"""The address blocks that policies name, each with an address that stands for it.

Pure; used by `reachability_graph`.
"""

from collections.abc import Callable, Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final, NamedTuple

from tenancy.base.manifest import Manifest
from tenancy.reachability import Net, block_net

Address = IPv4Address | IPv6Address

_LOWEST: Final = (ip_address("0.0.0.0"), ip_address("::"))


class Block(NamedTuple):
    label: str
    address: str
    net: Net
    cuts: tuple[Net, ...]

    def holds(self, address: Address) -> bool:
        return address in self.net and not any(address in cut for cut in self.cuts)


def blocks_in(peers: Iterable[Manifest]) -> list[Block]:
    """Each block of these peers once. One with nothing in it is left out."""
    blocks = {
        block.label: block for peer in peers if "ipBlock" in peer for block in [_block(peer["ipBlock"])]
    }
    found = []
    for block in blocks.values():
        inner = [other for other in blocks.values() if _is_within(other.net, block.net)]
        addresses = [address for address in _edges(blocks.values()) if block.holds(address)]
        # What smaller blocks hold as well has their rules too: an address of this one alone tells it better.
        alone = [address for address in addresses if not any(other.holds(address) for other in inner)]
        if addresses:
            found.append(block._replace(address=str((alone or addresses)[0])))
    return found


def outside_addresses(blocks: Iterable[Block]) -> list[str]:
    """An address of each family that none of the blocks holds."""
    blocks = list(blocks)
    free = [address for address in _edges(blocks) if not any(block.holds(address) for block in blocks)]
    versions: tuple[Callable[[Address], bool], ...] = (lambda a: a.version == 4, lambda a: a.version == 6)
    return [str(found[0]) for version in versions if (found := [*filter(version, free)])]


def _block(manifest: Manifest) -> Block:
    cuts = manifest.get("except") or ()
    label = manifest["cidr"] + (f" except {', '.join(cuts)}" if cuts else "")
    return Block(label, "", block_net(manifest["cidr"]), tuple(map(block_net, cuts)))


def _is_within(inner: Net, outer: Net) -> bool:
    return inner != outer and inner.version == outer.version and inner.network_address in outer


def _edges(blocks: Iterable[Block]) -> list[Address]:
    """The lowest address of every stretch over which no block begins or ends."""
    found: set[Address] = set(_LOWEST)
    for block in blocks:
        for net in (block.net, *block.cuts):
            found.add(net.network_address)
            if int(net.broadcast_address) + 1 < 2**net.max_prefixlen:
                found.add(net.broadcast_address + 1)
    return sorted(found, key=lambda address: (address.version, int(address)))

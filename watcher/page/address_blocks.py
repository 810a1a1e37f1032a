"""Finds an example address for each `ipBlock` in NetworkPolicies. No I/O."""

from collections.abc import Callable, Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final, NamedTuple

from tenancy.base.manifest import Manifest
from tenancy.reachability import IpNetwork, network_from_cidr

Address = IPv4Address | IPv6Address

_FIRST_ADDRESSES: Final = (ip_address("0.0.0.0"), ip_address("::"))


class Block(NamedTuple):
    """An `ipBlock` of a NetworkPolicy. `address` is an example address in the block."""

    label: str
    address: str
    network: IpNetwork
    exceptions: tuple[IpNetwork, ...]

    def contains(self, address: Address) -> bool:
        return address in self.network and not any(address in exception for exception in self.exceptions)


def address_blocks(peers: Iterable[Manifest]) -> list[Block]:
    """The distinct `ipBlock`s of these NetworkPolicy peers. Blocks that contain no address are left out.

    A block contains no address if its `except` entries cover its whole CIDR.
    """
    blocks = {
        block.label: block for peer in peers if "ipBlock" in peer for block in [_block(peer["ipBlock"])]
    }
    result = []
    for block in blocks.values():
        inner = [other for other in blocks.values() if _is_within(other.network, block.network)]
        addresses = [address for address in _range_starts(blocks.values()) if block.contains(address)]
        # Prefer an address outside all smaller blocks, because the rules of a smaller block apply to all
        # addresses in that block.
        distinctive = [
            address for address in addresses if not any(other.contains(address) for other in inner)
        ]
        if addresses:
            result.append(block._replace(address=str((distinctive or addresses)[0])))
    return result


def outside_addresses(blocks: Iterable[Block]) -> list[str]:
    """One IPv4 address and one IPv6 address that are in none of the blocks.

    If the blocks contain all addresses of an IP version, the result has no address of this version.
    """
    blocks = list(blocks)
    free = [
        address for address in _range_starts(blocks) if not any(block.contains(address) for block in blocks)
    ]
    has_version: tuple[Callable[[Address], bool], ...] = (lambda a: a.version == 4, lambda a: a.version == 6)
    return [str(addresses[0]) for matches in has_version if (addresses := [*filter(matches, free)])]


def _block(manifest: Manifest) -> Block:
    exceptions = manifest.get("except") or ()
    label = manifest["cidr"] + (f" except {', '.join(exceptions)}" if exceptions else "")
    return Block(label, "", network_from_cidr(manifest["cidr"]), tuple(map(network_from_cidr, exceptions)))


def _is_within(inner: IpNetwork, outer: IpNetwork) -> bool:
    return inner != outer and inner.version == outer.version and inner.network_address in outer


def _range_starts(blocks: Iterable[Block]) -> list[Address]:
    """Divide all IP addresses into ranges. Returns the lowest address of each range, in ascending order.

    The ranges are as large as possible, but no block and no `except` entry begins or ends inside a range. So
    all addresses of a range are in the same blocks.
    """
    starts: set[Address] = set(_FIRST_ADDRESSES)
    for block in blocks:
        for network in (block.network, *block.exceptions):
            starts.add(network.network_address)
            if int(network.broadcast_address) + 1 < 2**network.max_prefixlen:
                starts.add(network.broadcast_address + 1)
    return sorted(starts, key=lambda address: (address.version, int(address)))

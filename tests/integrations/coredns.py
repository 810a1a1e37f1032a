"""CoreDNS as tests use it: the real server beside the real API server, asked as if from a pod.

Used through the fixture `dns`. A pod is known by its address, and every address 127.0.0.x is this machine's,
so a test asks from whichever pod it likes.
"""

import os
import signal
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import dns.exception
import dns.message
import dns.query
import dns.rcode
import dns.rdatatype

from embedded.controlplane.loopback import HOST, is_ok
from tenancy.platform.coredns import Surroundings, corefile
from tests.serving import serving

OUTSIDE = "192.0.2.1"
# Stands for the resolver of the world outside, which has names under `test` only.
_UPSTREAM = """
.:{port} {{
    bind {host}
    template IN A test {{
        answer "{{{{ .Name }}}} 5 IN A {address}"
    }}
    template ANY ANY {{
        rcode NXDOMAIN
    }}
}}
"""

Families = Collection[Collection[str]]


class Answer(NamedTuple):
    """What a server says: the code, and the records with their types."""

    code: str
    records: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dns:
    """A running CoreDNS."""

    config: Path
    around: Surroundings
    pid: int

    def ask(self, source: str, name: str, kind: str = "A", over: str = "udp") -> Answer:
        return _answer(self.around.port, source, name, kind, over)

    def reload(self, families: Families) -> None:
        """Has it take another Corefile now; by itself it would look every half minute."""
        self.config.write_text(_config(families, self.around))
        os.kill(self.pid, signal.SIGUSR1)


@contextmanager
def running_coredns(binary: Path, kubeconfig: Path, families: Families, folder: Path) -> Iterator[Dns]:
    config = folder / "Corefile"

    def around(ports: list[int]) -> Surroundings:
        return Surroundings(
            address=HOST,
            port=ports[0],
            health_port=ports[1],
            ready_port=ports[2],
            metrics_port=ports[3],
            upstream=f"{HOST}:{ports[4]}",
            kubeconfig=kubeconfig,
        )

    def prepare(ports: list[int]) -> list[str | Path]:
        config.write_text(_config(families, around(ports)))
        return [binary, "-conf", config]

    def is_ready(ports: list[int]) -> bool:
        return is_ok(around(ports).ready_port, "/ready") and _answers(around(ports).port)

    with serving("coredns", prepare, is_ready, folder, port_count=5) as running:
        yield Dns(config, around(running.ports), running.pid)


def _answers(port: int) -> bool:
    """CoreDNS may say that it is ready a moment before it listens."""
    try:
        return all(_answer(port, HOST, "ready.test.", "A", over).code == "NOERROR" for over in ("tcp", "udp"))
    except (OSError, dns.exception.DNSException):
        return False


def _answer(port: int, source: str, name: str, kind: str, over: str) -> Answer:
    query = dns.message.make_query(name, kind)
    ask = dns.query.tcp if over == "tcp" else dns.query.udp
    told = ask(query, HOST, port=port, source=source, timeout=5)
    return Answer(
        dns.rcode.to_text(told.rcode()),
        tuple(
            f"{dns.rdatatype.to_text(found.rdtype)} {record}"
            for found in (*told.answer, *told.additional)
            for record in found
        ),
    )


def _config(families: Families, around: Surroundings) -> str:
    host, _, port = around.upstream.partition(":")
    upstream = _UPSTREAM.format(host=host, port=port, address=OUTSIDE)
    return corefile(families, around) + upstream

"""Runs CoreDNS with the API server of the tests, and sends queries to CoreDNS from the addresses of pods.

CoreDNS identifies a pod by the source address of its query. All addresses 127.0.0.x belong to this machine,
so a test can send a query from the address of any pod.
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
from tenancy.platform.coredns import CorednsSettings, corefile
from tests.serving import serving

OUTSIDE = "192.0.2.1"
# Replaces the upstream resolver. It resolves only names in the domain `test`.
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

NamespaceGroups = Collection[Collection[str]]


class Answer(NamedTuple):
    """The response code of a query, and the records with their types."""

    code: str
    records: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dns:
    """A running CoreDNS."""

    config: Path
    settings: CorednsSettings
    pid: int

    def ask(self, source: str, name: str, kind: str = "A", protocol: str = "udp") -> Answer:
        return _answer(self.settings.port, source, name, kind, protocol)

    def reload(self, namespace_groups: NamespaceGroups) -> None:
        """Load another Corefile immediately. CoreDNS itself checks for changes only every 30 seconds."""
        self.config.write_text(_config(namespace_groups, self.settings))
        os.kill(self.pid, signal.SIGUSR1)


@contextmanager
def running_coredns(
    binary: Path, kubeconfig: Path, namespace_groups: NamespaceGroups, folder: Path
) -> Iterator[Dns]:
    config = folder / "Corefile"

    def settings_for(ports: list[int]) -> CorednsSettings:
        return CorednsSettings(
            address=HOST,
            port=ports[0],
            health_port=ports[1],
            ready_port=ports[2],
            metrics_port=ports[3],
            upstream=f"{HOST}:{ports[4]}",
            kubeconfig=kubeconfig,
        )

    def prepare(ports: list[int]) -> list[str | Path]:
        config.write_text(_config(namespace_groups, settings_for(ports)))
        return [binary, "-conf", config]

    def is_ready(ports: list[int]) -> bool:
        return is_ok(settings_for(ports).ready_port, "/ready") and _answers(settings_for(ports).port)

    with serving("coredns", prepare, is_ready, folder, port_count=5) as running:
        yield Dns(config, settings_for(running.ports), running.pid)


def _answers(port: int) -> bool:
    """Whether CoreDNS responds to queries.

    Its readiness endpoint can report ready shortly before it listens.
    """
    try:
        return all(
            _answer(port, HOST, "ready.test.", "A", protocol).code == "NOERROR" for protocol in ("tcp", "udp")
        )
    except (OSError, dns.exception.DNSException):
        return False


def _answer(port: int, source: str, name: str, kind: str, protocol: str) -> Answer:
    query = dns.message.make_query(name, kind)
    send = dns.query.tcp if protocol == "tcp" else dns.query.udp
    response = send(query, HOST, port=port, source=source, timeout=5)
    return Answer(
        dns.rcode.to_text(response.rcode()),
        tuple(
            f"{dns.rdatatype.to_text(record_set.rdtype)} {record}"
            for record_set in (*response.answer, *response.additional)
            for record in record_set
        ),
    )


def _config(namespace_groups: NamespaceGroups, settings: CorednsSettings) -> str:
    host, _, port = settings.upstream.partition(":")
    upstream = _UPSTREAM.format(host=host, port=port, address=OUTSIDE)
    return corefile(namespace_groups, settings) + upstream

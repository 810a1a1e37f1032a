"""Gatekeeper as tests use it: the real manager beside the real API server, which asks it about every request.

Used through the fixture `gatekeeper`. It is installed as its own manifests say, except that its webhook is an
address on this machine, and that a request fails while Gatekeeper can't be asked. It generates no policies
for the API server to check by itself.
"""

import base64
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from cluster.client import Cluster, ClusterError
from cluster.served_kinds import is_established
from embedded.controlplane.components import CERTIFICATE, KEY
from embedded.controlplane.loopback import HOST, is_ok
from embedded.controlplane.plane import ControlPlane
from embedded.toolchain.modules import module_files
from embedded.toolchain.tools import MODULES, ModuleFile
from tenancy.base.kinds import CRD, Kind
from tenancy.base.manifest import Manifest
from tests.integrations.crds import install_crds
from tests.serving import serving
from tests.waiting import eventually

SYSTEM_NAMESPACE = "gatekeeper-system"
TEMPLATE = Kind("templates.gatekeeper.sh/v1", "ConstraintTemplate", "constrainttemplates", False)
_CONSTRAINTS = "constraints.gatekeeper.sh"
_WEBHOOK = Kind(
    "admissionregistration.k8s.io/v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    is_namespaced=False,
)
# With these, the API server would check CEL by itself, and go on when Gatekeeper has stopped.
_GENERATED_POLICIES = ("default-create-vap-for-templates", "default-create-vap-binding-for-constraints")
_SHIPPED = ModuleFile(
    MODULES / "gatekeeper", "github.com/open-policy-agent/gatekeeper/v3", "deploy/gatekeeper.yaml"
)


@dataclass(frozen=True)
class Gatekeeper:
    """A running Gatekeeper."""

    admin: Cluster

    def add_template(self, manifest: Manifest) -> None:
        """Returns when constraints of the template's kind can be made."""
        self.admin.create(TEMPLATE, manifest)
        crd = f"{manifest['metadata']['name']}.{_CONSTRAINTS}"
        eventually(lambda: is_established(self.admin.get(CRD, crd)), f"Gatekeeper has made {crd}")

    def add_constraint(self, manifest: Manifest) -> None:
        """Returns when Gatekeeper holds requests against the constraint."""
        kind, name = constraint_kind(manifest["kind"]), manifest["metadata"]["name"]
        # The API server serves a kind a moment after it says that the kind is established.
        eventually(lambda: _is_created(self.admin, kind, manifest), f"{kind.kind} is served")
        self.await_enforced(kind, name)

    def await_enforced(self, kind: Kind, name: str) -> None:
        def is_enforced() -> bool:
            constraint = self.admin.get(kind, name) or {}
            generation = constraint.get("metadata", {}).get("generation")
            # It is `byPod: null` until the first report.
            reports = constraint.get("status", {}).get("byPod") or []
            return any(seen["enforced"] and seen["observedGeneration"] == generation for seen in reports)

        eventually(is_enforced, f"{kind.kind} {name} is enforced; is {self.admin.get(kind, name)}")


def constraint_kind(kind: str) -> Kind:
    """The kind of constraint that a ConstraintTemplate defines."""
    return Kind(f"{_CONSTRAINTS}/v1beta1", kind, kind.lower(), is_namespaced=False)


@contextmanager
def running_gatekeeper(
    binary: Path, plane: ControlPlane, crds: list[Manifest], folder: Path
) -> Iterator[Gatekeeper]:
    """Gatekeeper in this cluster, which ends with the tests that use it."""
    admin = Cluster.connect(plane.kubeconfig)
    admin.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM_NAMESPACE}})
    install_crds(admin, crds)
    with _running_manager(binary, plane, folder) as port:
        webhook = _webhook(f"https://{HOST}:{port}", plane.ca.read_bytes())
        admin.create(_WEBHOOK, webhook)
        yield Gatekeeper(admin)
        # Other tests of the module may go on without it.
        admin.delete(_WEBHOOK, webhook["metadata"]["name"])


@contextmanager
def _running_manager(binary: Path, plane: ControlPlane, folder: Path) -> Iterator[int]:
    """The manager's process, ready to be asked; yields the port of its webhook."""
    certificates = folder / "certificates"
    certificates.mkdir()
    # The API server's own certificate is for this address, too, and it trusts itself.
    shutil.copyfile(plane.data / CERTIFICATE, certificates / "tls.crt")
    shutil.copyfile(plane.data / KEY, certificates / "tls.key")

    def argv(ports: list[int]) -> list[str | Path]:
        webhook, health, metrics = ports
        return [
            binary,
            *("--operation=webhook", "--operation=status", "--operation=generate"),
            *(f"--{policies}=false" for policies in _GENERATED_POLICIES),
            "--debug-use-fake-pod",
            *("--disable-cert-rotation", f"--cert-dir={certificates}"),
            *(f"--host={HOST}", f"--port={webhook}", f"--health-addr={HOST}:{health}"),
            *(f"--prometheus-port={metrics}", "--shutdown-delay=0"),
            f"--exempt-namespace={SYSTEM_NAMESPACE}",
        ]

    def is_ready(ports: list[int]) -> bool:
        return is_ok(ports[1], "/readyz")

    env = {**os.environ, "KUBECONFIG": str(plane.kubeconfig), "POD_NAMESPACE": SYSTEM_NAMESPACE}
    with serving("gatekeeper", argv, is_ready, folder, port_count=3, env=env) as running:
        yield running.ports[0]


def _webhook(url: str, ca: bytes) -> Manifest:
    """As Gatekeeper ships it, at another address."""
    (path,) = module_files(_SHIPPED)
    with path.open() as file:
        shipped = list(yaml.load_all(file, Loader=yaml.CSafeLoader))
    webhook: Manifest = next(found for found in shipped if found["kind"] == _WEBHOOK.kind)
    for rule in webhook["webhooks"]:
        rule["clientConfig"] = {
            "url": url + rule["clientConfig"]["service"]["path"],
            "caBundle": base64.b64encode(ca).decode(),
        }
        # What is let through because nobody was asked would look like a policy that allows it.
        rule |= {"failurePolicy": "Fail", "timeoutSeconds": 10}
    return webhook


def _is_created(admin: Cluster, kind: Kind, manifest: Manifest) -> bool:
    try:
        admin.create(kind, manifest)
    except ClusterError as error:
        if error.status == 404:
            return False
        raise
    return True

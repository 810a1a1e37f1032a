"""Runs the Gatekeeper manager as a validating webhook of the API server of the tests.

The installation uses Gatekeeper's manifests, with three differences. The webhook is an address on this
machine. Requests fail while Gatekeeper cannot be reached. Gatekeeper generates no
ValidatingAdmissionPolicies.
"""

import base64
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.served_kinds import is_established
from embedded.controlplane.components import CERTIFICATE, KEY
from embedded.controlplane.loopback import HOST, is_ok
from embedded.controlplane.plane import ControlPlane
from embedded.toolchain.modules import module_files
from embedded.toolchain.tools import MODULES, ModuleFile
from tenancy.base.kinds import CRD, Kind
from tenancy.base.manifest import Manifest
from tests.integrations.crds import install_crds
from tests.integrations.pods import POD, allow_pods, pod
from tests.serving import serving
from tests.waiting import eventually

SYSTEM_NAMESPACE = "gatekeeper-system"
_POD_NAME = "gatekeeper-manager"
TEMPLATE = Kind("templates.gatekeeper.sh/v1", "ConstraintTemplate", "constrainttemplates", False)
_CONSTRAINTS = "constraints.gatekeeper.sh"
_WEBHOOK = Kind(
    "admissionregistration.k8s.io/v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    is_namespaced=False,
)
# Options that generate ValidatingAdmissionPolicies. The API server would enforce these policies even after
# Gatekeeper has stopped.
_GENERATED_POLICIES = ("default-create-vap-for-templates", "default-create-vap-binding-for-constraints")
_SHIPPED = ModuleFile(
    MODULES / "gatekeeper", "github.com/open-policy-agent/gatekeeper/v3", "deploy/gatekeeper.yaml"
)


@dataclass(frozen=True)
class Gatekeeper:
    """A running Gatekeeper."""

    admin: Cluster

    def add_template(self, manifest: Manifest) -> None:
        """Create the ConstraintTemplate, and wait until constraints of its kind can be created."""
        self.admin.create(TEMPLATE, manifest)
        crd = f"{manifest['metadata']['name']}.{_CONSTRAINTS}"
        eventually(lambda: is_established(self.admin.get(CRD, crd)), f"Gatekeeper has created CRD {crd}")

    def add_constraint(self, manifest: Manifest) -> None:
        """Create the constraint, and wait until Gatekeeper enforces it."""
        kind, name = constraint_kind(manifest["kind"]), manifest["metadata"]["name"]
        # The API server may start to serve a kind shortly after it reports that the CRD is established.
        eventually(lambda: _is_created(self.admin, kind, manifest), f"{kind.kind} is served")
        self.await_enforced(kind, name)

    def await_enforced(self, kind: Kind, name: str) -> None:
        def is_enforced() -> bool:
            constraint = self.admin.get(kind, name) or {}
            generation = constraint.get("metadata", {}).get("generation")
            # `byPod` is null until Gatekeeper reports for the first time.
            reports = constraint.get("status", {}).get("byPod") or []
            return any(
                report["enforced"] and report["observedGeneration"] == generation for report in reports
            )

        eventually(is_enforced, f"{kind.kind} {name} is enforced; is {self.admin.get(kind, name)}")


def constraint_kind(kind: str) -> Kind:
    """The kind of the constraints that the ConstraintTemplate for `kind` defines."""
    return Kind(f"{_CONSTRAINTS}/v1beta1", kind, kind.lower(), is_namespaced=False)


@contextmanager
def running_gatekeeper(
    binary: Path, plane: ControlPlane, crds: list[Manifest], folder: Path
) -> Iterator[Gatekeeper]:
    """Run Gatekeeper in this cluster until the context ends."""
    admin = Cluster.connect(plane.kubeconfig)
    admin.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM_NAMESPACE}})
    # The manager's pod is the owner of Gatekeeper's reports. Without the pod, the garbage collector would
    # delete each report, and Gatekeeper would create the report again and again.
    allow_pods(admin, SYSTEM_NAMESPACE)
    manager_pod = pod(SYSTEM_NAMESPACE)
    admin.create(POD, {**manager_pod, "metadata": {"name": _POD_NAME, "namespace": SYSTEM_NAMESPACE}})
    install_crds(admin, crds)
    with _running_manager(binary, plane, folder) as port:
        webhook = _webhook(f"https://{HOST}:{port}", plane.ca.read_bytes())
        admin.create(_WEBHOOK, webhook)
        yield Gatekeeper(admin)
        # Delete the webhook. Otherwise, requests of later tests in the module would fail.
        admin.delete(_WEBHOOK, webhook["metadata"]["name"])


@contextmanager
def _running_manager(binary: Path, plane: ControlPlane, folder: Path) -> Iterator[int]:
    """Run the manager, and wait until it is ready. Yields the port of its webhook."""
    certificates = folder / "certificates"
    certificates.mkdir()
    # Use the certificate of the API server. It is valid for this address, and the API server trusts it.
    shutil.copyfile(plane.data / CERTIFICATE, certificates / "tls.crt")
    shutil.copyfile(plane.data / KEY, certificates / "tls.key")

    def argv(ports: list[int]) -> list[str | Path]:
        webhook, health, metrics = ports
        return [
            binary,
            *("--operation=webhook", "--operation=status", "--operation=generate"),
            *(f"--{policies}=false" for policies in _GENERATED_POLICIES),
            *("--disable-cert-rotation", f"--cert-dir={certificates}"),
            *(f"--host={HOST}", f"--port={webhook}", f"--health-addr={HOST}:{health}"),
            *(f"--prometheus-port={metrics}", "--shutdown-delay=0"),
            f"--exempt-namespace={SYSTEM_NAMESPACE}",
        ]

    def is_ready(ports: list[int]) -> bool:
        return is_ok(ports[1], "/readyz")

    env = {
        **os.environ,
        "KUBECONFIG": str(plane.kubeconfig),
        "POD_NAMESPACE": SYSTEM_NAMESPACE,
        "POD_NAME": _POD_NAME,
    }
    with serving("gatekeeper", argv, is_ready, folder, port_count=3, env=env) as running:
        yield running.ports[0]


def _webhook(url: str, ca: bytes) -> Manifest:
    """The webhook configuration from Gatekeeper's manifests, with the given URL and CA."""
    (path,) = module_files(_SHIPPED)
    with path.open() as file:
        manifests = list(yaml.load_all(file, Loader=yaml.CSafeLoader))
    webhook: Manifest = next(manifest for manifest in manifests if manifest["kind"] == _WEBHOOK.kind)
    for rule in webhook["webhooks"]:
        rule["clientConfig"] = {
            "url": url + rule["clientConfig"]["service"]["path"],
            "caBundle": base64.b64encode(ca).decode(),
        }
        # With failure policy Ignore, a test could not tell whether the webhook allowed a request or was
        # unavailable.
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

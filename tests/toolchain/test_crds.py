"""The CRDs of other projects are read from the published modules of these projects.

Missing files cause an error.
"""

from pathlib import Path

import pytest

from embedded.errors import SetupFailed
from embedded.toolchain.crds import CRD_FILES
from embedded.toolchain.modules import module_files
from embedded.toolchain.tools import MODULES, ModuleFile
from tests.conftest import CrdFiles

pytestmark = pytest.mark.usefixtures("programs")


@pytest.mark.parametrize(
    ("integration", "name"),
    [
        ("gatekeeper", "constrainttemplates.templates.gatekeeper.sh"),
        ("gateway-api", "httproutes.gateway.networking.k8s.io"),
        ("hnc", "subnamespaceanchors.hnc.x-k8s.io"),
        ("istio", "authorizationpolicies.security.istio.io"),
        ("istio", "virtualservices.networking.istio.io"),
        ("prometheus", "prometheusrules.monitoring.coreos.com"),
        ("prometheus", "servicemonitors.monitoring.coreos.com"),
    ],
)
def test_every_project_has_the_kinds_that_are_used(crd_files: CrdFiles, integration: str, name: str) -> None:
    assert name in [crd["metadata"]["name"] for crd in crd_files(integration)]


@pytest.mark.parametrize("integration", CRD_FILES)
def test_only_crds_are_returned(crd_files: CrdFiles, integration: str) -> None:
    crds = crd_files(integration)
    assert {(crd["apiVersion"], crd["kind"]) for crd in crds} == {
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    }
    names = [crd["metadata"]["name"] for crd in crds]
    assert len(names) == len(set(names))


def test_lookup_leaves_the_checkout_as_it_is() -> None:
    folder = MODULES / "crds"
    before = {path.name: path.read_text() for path in folder.iterdir()}
    module_files(CRD_FILES["istio"])
    assert {path.name: path.read_text() for path in folder.iterdir()} == before


def test_file_that_the_module_does_not_have_is_named() -> None:
    absent = ModuleFile(MODULES / "crds", "istio.io/api", "kubernetes/absent.yaml")
    with pytest.raises(LookupError, match=r"istio\.io/api has no file kubernetes/absent\.yaml"):
        module_files(absent)


def test_module_with_another_checksum_is_refused(tmp_path: Path) -> None:
    for name in ("go.mod", "go.sum"):
        (tmp_path / name).write_text((MODULES / "crds" / name).read_text())
    text = (tmp_path / "go.sum").read_text()
    wrong = "A" * 43
    lines = [
        f"istio.io/api v1.31.1 h1:{wrong}=" if line.startswith("istio.io/api v1.31.1 h1:") else line
        for line in text.splitlines()
    ]
    (tmp_path / "go.sum").write_text("\n".join(lines) + "\n")
    with pytest.raises(SetupFailed, match="checksum mismatch"):
        module_files(ModuleFile(tmp_path, "istio.io/api", "kubernetes/*.yaml"))

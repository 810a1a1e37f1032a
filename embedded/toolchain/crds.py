"""The CustomResourceDefinitions of the projects that tenants are integrated with, as those publish them.

Called by tests that need the real kinds in a real API server. They come out of Go modules pinned under
toolchain/. Nothing here installs them.
"""

from collections.abc import Iterator

import yaml

from embedded.toolchain.modules import module_files
from embedded.toolchain.tools import MODULES, ModuleFile
from tenancy.base.manifest import Manifest

_CRDS = MODULES / "crds"

CRD_FILES: dict[str, ModuleFile] = {
    # The same pin as the binary's: the two have to fit.
    "gatekeeper": ModuleFile(
        MODULES / "gatekeeper", "github.com/open-policy-agent/gatekeeper/v3", "charts/gatekeeper/crds/*.yaml"
    ),
    "gateway-api": ModuleFile(_CRDS, "sigs.k8s.io/gateway-api", "config/crd/standard/*.yaml"),
    "hnc": ModuleFile(_CRDS, "sigs.k8s.io/hierarchical-namespaces", "config/crd/bases/*.yaml"),
    "istio": ModuleFile(_CRDS, "istio.io/api", "kubernetes/customresourcedefinitions.gen.yaml"),
    # As JSON: the YAML beside it has a bare `=` in a list, which PyYAML refuses.
    "prometheus": ModuleFile(
        _CRDS, "github.com/prometheus-operator/prometheus-operator", "jsonnet/prometheus-operator/*-crd.json"
    ),
}


def crd_manifests(integration: str) -> list[Manifest]:
    """All CustomResourceDefinitions of one project; other objects in its files are left out."""
    return [
        found for found in _documents(CRD_FILES[integration]) if found["kind"] == "CustomResourceDefinition"
    ]


def _documents(files: ModuleFile) -> Iterator[Manifest]:
    for path in module_files(files):
        with path.open() as file:
            # Some of these are megabytes: the loader in C takes a tenth of the time.
            yield from filter(None, yaml.load_all(file, Loader=yaml.CSafeLoader))

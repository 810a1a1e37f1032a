"""The published CustomResourceDefinitions of the projects that tenants integrate with, for tests.

They are read from Go modules pinned under toolchain/.
"""

from collections.abc import Iterator

import yaml

from embedded.toolchain.modules import module_files
from embedded.toolchain.tools import MODULES, ModuleFile
from tenancy.base.manifest import Manifest

_CRDS = MODULES / "crds"

CRD_FILES: dict[str, ModuleFile] = {
    # From the module of the binary, so that both have the same version.
    "gatekeeper": ModuleFile(
        MODULES / "gatekeeper", "github.com/open-policy-agent/gatekeeper/v3", "charts/gatekeeper/crds/*.yaml"
    ),
    "gateway-api": ModuleFile(_CRDS, "sigs.k8s.io/gateway-api", "config/crd/standard/*.yaml"),
    "hnc": ModuleFile(_CRDS, "sigs.k8s.io/hierarchical-namespaces", "config/crd/bases/*.yaml"),
    "istio": ModuleFile(_CRDS, "istio.io/api", "kubernetes/customresourcedefinitions.gen.yaml"),
    # The JSON files, because the YAML files have a plain `=` in a list, which PyYAML rejects.
    "prometheus": ModuleFile(
        _CRDS, "github.com/prometheus-operator/prometheus-operator", "jsonnet/prometheus-operator/*-crd.json"
    ),
}


def crd_manifests(integration: str) -> list[Manifest]:
    """The CustomResourceDefinitions of one project, without other objects in its files."""
    return [
        manifest
        for manifest in _documents(CRD_FILES[integration])
        if manifest["kind"] == "CustomResourceDefinition"
    ]


def _documents(files: ModuleFile) -> Iterator[Manifest]:
    for path in module_files(files):
        with path.open() as file:
            # Some files have megabytes; the C loader is ten times as fast.
            yield from filter(None, yaml.load_all(file, Loader=yaml.CSafeLoader))

"""The CustomResourceDefinitions of other projects, for example Istio. Only tests use them.

This module reads the CRDs from the Go modules of these projects. The go.mod files under toolchain/ pin the
versions of the Go modules.
"""

from collections.abc import Iterator

import yaml

from embedded.toolchain.modules import module_files
from embedded.toolchain.tools import MODULES, ModuleFile
from tenancy.base.manifest import Manifest

_CRDS = MODULES / "crds"

CRD_FILES: dict[str, ModuleFile] = {
    # These CRDs come from the Go module from which gatekeeper is built. So both have the same version.
    "gatekeeper": ModuleFile(
        MODULES / "gatekeeper", "github.com/open-policy-agent/gatekeeper/v3", "charts/gatekeeper/crds/*.yaml"
    ),
    "gateway-api": ModuleFile(_CRDS, "sigs.k8s.io/gateway-api", "config/crd/standard/*.yaml"),
    "hnc": ModuleFile(_CRDS, "sigs.k8s.io/hierarchical-namespaces", "config/crd/bases/*.yaml"),
    "istio": ModuleFile(_CRDS, "istio.io/api", "kubernetes/customresourcedefinitions.gen.yaml"),
    # Read the JSON files, because PyYAML rejects the YAML files: they contain a plain `=` in a list.
    "prometheus": ModuleFile(
        _CRDS, "github.com/prometheus-operator/prometheus-operator", "jsonnet/prometheus-operator/*-crd.json"
    ),
}


def crd_manifests(integration: str) -> list[Manifest]:
    """The CustomResourceDefinitions in the files of one project. Other objects in the files are omitted."""
    return [
        manifest
        for manifest in _documents(CRD_FILES[integration])
        if manifest["kind"] == "CustomResourceDefinition"
    ]


def _documents(files: ModuleFile) -> Iterator[Manifest]:
    for path in module_files(files):
        with path.open() as file:
            # Use the C loader, because some files have several megabytes, and it is ten times as fast.
            yield from filter(None, yaml.load_all(file, Loader=yaml.CSafeLoader))

"""A user's Pulumi program uses the `tenancy` package as a library."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

import tenancy
from cluster.client import Cluster
from embedded.controlplane.plane import ControlPlane
from embedded.toolchain.resolver import path_with
from tenancy.base.kinds import CONFIG_MAP, NAMESPACE, RESOURCE_QUOTA
from tenancy.base.labels import TENANT_LABEL
from tests.waiting import eventually

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "library"

# The program sets `protect`, and sets a provider, because its environment has no usable kubeconfig.
WITH_OPTIONS = """
import os
import pulumi, pulumi_kubernetes
import tenancy

provider = pulumi_kubernetes.Provider("own", kubeconfig=os.environ["OWN_KUBECONFIG"])
group = pulumi.ComponentResource("x:y:Group", "group")
options = pulumi.ResourceOptions(parent=group, protect=True, provider=provider)
tenant = tenancy.Tenant("optional", opts=options)
pulumi.export("namespaces", tenant.namespaces)
"""


@dataclass
class Program:
    """A user's Pulumi program and its stack."""

    folder: Path
    environment: dict[str, str]

    def pulumi(self, *args: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["pulumi", *args, "--non-interactive", "--color", "never"],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    def run(self, *args: str) -> str:
        result = self.pulumi(*args)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    def outputs(self) -> dict[str, Any]:
        outputs: dict[str, Any] = json.loads(self.run("stack", "output", "--json", "--stack", "test"))
        return outputs


@pytest.fixture
def cluster(control_plane: ControlPlane) -> Cluster:
    return Cluster.connect(control_plane.kubeconfig)


@pytest.fixture
def program(
    tools: dict[str, Path], control_plane: ControlPlane, cluster: Cluster, tmp_path: Path
) -> Iterator[Program]:
    """An empty Pulumi program with its own state. Its PYTHONPATH contains the `tenancy` package."""
    folder = tmp_path / "program"
    (tmp_path / "state").mkdir()
    folder.mkdir()
    (folder / "Pulumi.yaml").write_text((EXAMPLE / "Pulumi.yaml").read_text())
    program = Program(
        folder,
        {
            **os.environ,
            "PATH": path_with(tools),
            "PYTHONPATH": str(ROOT),
            "KUBECONFIG": str(control_plane.kubeconfig),
            "PULUMI_BACKEND_URL": f"file://{tmp_path / 'state'}",
            "PULUMI_CONFIG_PASSPHRASE": "test",
            "PULUMI_HOME": str(tmp_path / "pulumi"),
            "PULUMI_SKIP_UPDATE_CHECK": "true",
        },
    )
    program.run("stack", "init", "test")
    yield program
    # `pulumi destroy` would wait until the namespaces are deleted. The state is deleted together with its
    # folder.
    for namespace in cluster.list(NAMESPACE, f"{TENANT_LABEL} in (library, optional)")[0]:
        cluster.delete(NAMESPACE, namespace["metadata"]["name"])


def test_example_creates_and_destroys_a_tenant(program: Program, cluster: Cluster) -> None:
    (program.folder / "__main__.py").write_text((EXAMPLE / "__main__.py").read_text())
    program.run("up", "--yes", "--skip-preview", "--stack", "test")
    assert program.outputs() == {
        "namespaces": {"dev": "tenant-library-dev", "prod": "tenant-library-prod"},
        "quotas": [
            "tenant-quota",
            "tenant-quota-objects",
            "tenant-quota-storage",
            "tenant-object-counts",
        ],
    }
    prod = cluster.get(NAMESPACE, "tenant-library-prod")
    assert prod is not None
    assert prod["metadata"]["labels"]["tenant.platform.ai/purpose"] == "production"
    quota = cluster.get(RESOURCE_QUOTA, "tenant-quota", "tenant-library-dev")
    assert quota is not None
    assert quota["spec"]["hard"]["cpu"] == "6"
    assert cluster.get(CONFIG_MAP, "welcome", "tenant-library-dev") is not None

    assert "unchanged" in program.run("preview", "--refresh", "--expect-no-changes", "--stack", "test")
    program.run("destroy", "--yes", "--skip-preview", "--stack", "test")
    names = ("tenant-library-dev", "tenant-library-prod")
    eventually(lambda: not any(cluster.get(NAMESPACE, name) for name in names), "the namespaces are deleted")


def test_options_reach_every_object(program: Program, cluster: Cluster, control_plane: ControlPlane) -> None:
    (program.folder / "__main__.py").write_text(WITH_OPTIONS)
    program.environment |= {
        "OWN_KUBECONFIG": control_plane.kubeconfig.read_text(),
        "KUBECONFIG": "/nowhere",
    }
    program.run("up", "--yes", "--skip-preview", "--stack", "test")
    assert program.outputs() == {"namespaces": {"default": "tenant-optional"}}
    assert cluster.get(NAMESPACE, "tenant-optional") is not None

    state = json.loads(program.run("stack", "export", "--stack", "test"))["deployment"]["resources"]
    objects = [resource for resource in state if resource["type"].startswith("kubernetes:")]
    assert all(resource.get("protect") for resource in objects)
    assert all("x:y:Group$tenancy:index:Tenant$" in resource["urn"] for resource in objects)
    destroy = program.pulumi("destroy", "--yes", "--skip-preview", "--stack", "test")
    assert destroy.returncode != 0
    assert cluster.get(NAMESPACE, "tenant-optional") is not None


@pytest.mark.parametrize(
    ("name", "spec", "field"),
    [
        ("Acme", {}, "name"),
        ("n" * 60, {}, "metadata.name"),
        ("acme", {"plan": "gold"}, "spec.plan"),
        ("acme", {"namespaces": [{"name": f"n{number}"} for number in range(9)]}, "spec.namespaces"),
        (
            "acme",
            {"access": [{"kind": "User", "name": "x", "namespaces": ["b"]}]},
            "spec.access[0].namespaces[0]",
        ),
    ],
)
def test_invalid_tenant_is_rejected_with_its_field(name: str, spec: dict[str, Any], field: str) -> None:
    with pytest.raises(tenancy.InvalidSpec) as error:
        tenancy.Tenant(name, tenancy.TenantSpec.model_validate(spec))
    assert error.value.field == field


def test_invalid_value_is_rejected_with_its_field() -> None:
    with pytest.raises(ValidationError, match=r"resourceQuotas\.cpu|cpu"):
        tenancy.TenantSpec(resource_quotas=tenancy.ResourceQuotas(cpu="lots"))


def test_library_exports_every_name_in_all() -> None:
    assert {name for name in tenancy.__all__ if getattr(tenancy, name, None) is None} == set()
    with pytest.raises(AttributeError, match="no attribute 'Surprise'"):
        tenancy.Surprise  # noqa: B018


def test_pulumi_is_imported_only_for_a_component() -> None:
    steps = (
        "import sys, tenancy",
        "tenancy.TenantSpec()",
        "assert 'pulumi' not in sys.modules",
        "tenancy.Tenant",
        "assert 'pulumi' in sys.modules",
    )
    subprocess.run([sys.executable, "-c", "; ".join(steps)], cwd=ROOT, check=True)

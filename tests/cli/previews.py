"""Fixtures that run previews like a CI job: in a folder of manifests, and with read-only rights."""

import difflib
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.client import Cluster
from cluster.errors import ClusterError
from tenancy.base.kinds import CONFIG_MAP, TENANTS
from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import PLANS_CONFIG_MAP, SYSTEM_NAMESPACE
from tenancy.objects.roles import API_GROUP, API_VERSION
from tenancy.platform.reader_roles import PREVIEW_ROLE
from tests.commandline import run_tenancy
from tests.kubeconfigs import SERVICE_ACCOUNT_NAMESPACE, service_account_kubeconfig
from tests.platform import Platform, tenant_manifest
from tests.waiting import eventually

GOLDEN = Path(__file__).parent / "golden"
_ACCOUNT = "previewer"


def previewer_kubeconfig(platform: Platform, path: Path) -> Path:
    """Write the kubeconfig of a ServiceAccount, and return its path.

    The account has only the roles for previews.
    """
    service_account_kubeconfig(platform.admin_kubeconfig, path, _ACCOUNT)
    subject = {"kind": "ServiceAccount", "name": _ACCOUNT, "namespace": SERVICE_ACCOUNT_NAMESPACE}
    for kind, role, namespace in (
        ("ClusterRoleBinding", "ClusterRole", None),
        ("RoleBinding", "Role", SYSTEM_NAMESPACE),
    ):
        reference = {"apiGroup": API_GROUP, "kind": role, "name": PREVIEW_ROLE}
        platform.apply(
            {
                "apiVersion": API_VERSION,
                "kind": kind,
                "metadata": _metadata(namespace),
                "roleRef": reference,
                "subjects": [subject],
            }
        )
    eventually(lambda: _is_reader(Cluster.connect(path)), "the API server goes by the account's rights")
    return path


def _is_reader(account: Cluster) -> bool:
    """Whether both roles are in effect.

    Reading the plans must be allowed even if their ConfigMap does not exist.
    """
    try:
        account.list(TENANTS[0], name="none")
        account.get(CONFIG_MAP, PLANS_CONFIG_MAP, SYSTEM_NAMESPACE)
    except ClusterError:
        return False
    return True


def _metadata(namespace: str | None) -> Manifest:
    return {"name": _ACCOUNT, "namespace": namespace} if namespace else {"name": _ACCOUNT}


@dataclass(frozen=True)
class Previews:
    """A folder with manifests in `tenants/`. The `tenancy` command runs in this folder."""

    folder: Path
    environment: dict[str, str]

    def write(self, name: str, text: str = "", **spec: Any) -> Path:
        """Write the manifest of tenant `name` to a file. If `text` is set, write the text instead."""
        file = self.folder / "tenants" / f"{name}.yaml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text or yaml.safe_dump(tenant_manifest(name, **spec), sort_keys=False))
        return file

    def commit(self) -> None:
        author = ("-c", "user.name=Test", "-c", "user.email=test@example.test")
        self.git("init", "--quiet", "--initial-branch", "main")
        self.git("add", "--all")
        self.git(*author, "commit", "--quiet", "--message", "As it stood")

    def git(self, *arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=self.folder, check=True, capture_output=True)

    def run(
        self, *arguments: str, input: str | None = None, **environment: str
    ) -> "subprocess.CompletedProcess[str]":
        return run_tenancy(
            *arguments, cwd=self.folder, environment={**self.environment, **environment}, input=input
        )

    def json(self, *arguments: str, exit_code: int = 2, input: str | None = None) -> dict[str, Any]:
        result = self.run("preview", *(arguments or ("tenants",)), "--output", "json", input=input)
        assert result.returncode == exit_code, result.stdout + result.stderr
        assert result.stderr == ""
        preview: dict[str, Any] = json.loads(result.stdout)
        return preview

    def expect_golden(self, name: str, *arguments: str, exit_code: int) -> str:
        """Compare the Markdown output with a golden file.

        With TENANCY_GOLDEN=1, first overwrite the golden file.
        """
        result = self.run("preview", *(arguments or ("tenants",)), "--output", "markdown")
        assert result.returncode == exit_code, result.stdout + result.stderr
        file = GOLDEN / f"{name}.md"
        if os.environ.get("TENANCY_GOLDEN") == "1":
            file.write_text(result.stdout)
        golden = file.read_text()
        difference = difflib.unified_diff(
            golden.splitlines(), result.stdout.splitlines(), "golden", "actual", n=1
        )
        assert result.stdout == golden, "\n".join(difference)
        return result.stdout


@pytest.fixture(name="previews")
def previews_fixture(platform: Platform, tmp_path: Path) -> Previews:
    """Previews on the shared platform, with read-only rights."""
    kubeconfig = previewer_kubeconfig(platform, tmp_path / "previewer.kubeconfig")
    folder = tmp_path / "repository"
    folder.mkdir()
    return Previews(folder, {**os.environ, "KUBECONFIG": str(kubeconfig)})


@pytest.fixture(name="offline_previews")
def offline_fixture(tmp_path: Path) -> Previews:
    """Previews without a cluster."""
    folder = tmp_path / "repository"
    folder.mkdir()
    return Previews(folder, {**os.environ, "KUBECONFIG": "/nowhere"})


def only_tenant(preview: dict[str, Any]) -> dict[str, Any]:
    tenants: list[dict[str, Any]] = preview["tenants"]
    (tenant,) = tenants
    return tenant


def rules(preview: dict[str, Any]) -> list[str]:
    tenant_findings = (finding for tenant in preview["tenants"] for finding in tenant["findings"])
    return [finding["rule"] for finding in (*preview["faults"], *tenant_findings)]

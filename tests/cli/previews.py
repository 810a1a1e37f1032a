"""Previews as a CI job runs them: in a folder of manifests, as an account that may only read.

The tests of previews import its fixtures.
"""

import difflib
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.client import Cluster, ClusterError
from embedded.controlplane.kubeconfig import write_kubeconfig
from tenancy.base.kinds import CONFIG_MAP, TENANTS, Kind
from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import PLANS_CONFIG_MAP, SYSTEM_NAMESPACE
from tenancy.objects.roles import API_GROUP, API_VERSION
from tenancy.platform.preview_rights import PREVIEW_ROLE
from tests.commandline import run_tenancy
from tests.platform import Platform, tenant_manifest
from tests.waiting import eventually

GOLDEN = Path(__file__).parent / "golden"
_ACCOUNT = "previewer"
_HOME = "default"


def previewer_kubeconfig(platform: Platform, path: Path) -> Path:
    """Of a ServiceAccount with the rights that are shipped for previews, and no others."""
    subject = {"kind": "ServiceAccount", "name": _ACCOUNT, "namespace": _HOME}
    platform.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _metadata(_HOME)})
    for kind, role, home in (
        ("ClusterRoleBinding", "ClusterRole", None),
        ("RoleBinding", "Role", SYSTEM_NAMESPACE),
    ):
        reference = {"apiGroup": API_GROUP, "kind": role, "name": PREVIEW_ROLE}
        platform.apply(
            {
                "apiVersion": API_VERSION,
                "kind": kind,
                "metadata": _metadata(home),
                "roleRef": reference,
                "subjects": [subject],
            }
        )
    tokens = Kind("v1", "TokenRequest", f"serviceaccounts/{_ACCOUNT}/token")
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "metadata": _metadata(_HOME),
        "spec": {},
    }
    token = platform.admin.create(tokens, request)["status"]["token"]
    document = yaml.safe_load(platform.admin_kubeconfig.read_text())
    document["users"] = [{"name": user["name"], "user": {"token": token}} for user in document["users"]]
    write_kubeconfig(path, document)
    eventually(lambda: _is_reader(Cluster.connect(path)), "the API server goes by the account's rights")
    return path


def _is_reader(account: Cluster) -> bool:
    """Whether both roles are in force. The plans may be read, whether they are there or not."""
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
    """A folder with manifests in `tenants/`, and the command run in it."""

    folder: Path
    environment: dict[str, str]

    def write(self, name: str, text: str = "", **spec: Any) -> Path:
        """The tenant of this name, or any text."""
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
        told = self.run("preview", *(arguments or ("tenants",)), "--format", "json", input=input)
        assert told.returncode == exit_code, told.stdout + told.stderr
        assert told.stderr == ""
        result: dict[str, Any] = json.loads(told.stdout)
        return result

    def expect_golden(self, name: str, *arguments: str, exit_code: int) -> str:
        """The Markdown is what the golden file has; TENANCY_GOLDEN=1 writes that file anew."""
        told = self.run("preview", *(arguments or ("tenants",)), "--format", "markdown")
        assert told.returncode == exit_code, told.stdout + told.stderr
        file = GOLDEN / f"{name}.md"
        if os.environ.get("TENANCY_GOLDEN") == "1":
            file.write_text(told.stdout)
        known = file.read_text()
        difference = difflib.unified_diff(known.splitlines(), told.stdout.splitlines(), "golden", "told", n=1)
        assert told.stdout == known, "\n".join(difference)
        return told.stdout


@pytest.fixture(name="previews")
def previews_fixture(platform: Platform, tmp_path: Path) -> Previews:
    """Previews against the shared platform, as an account that may only read."""
    kubeconfig = previewer_kubeconfig(platform, tmp_path / "previewer.kubeconfig")
    folder = tmp_path / "repository"
    folder.mkdir()
    return Previews(folder, {**os.environ, "KUBECONFIG": str(kubeconfig)})


@pytest.fixture(name="offline_previews")
def offline_fixture(tmp_path: Path) -> Previews:
    """Previews where there is no cluster."""
    folder = tmp_path / "repository"
    folder.mkdir()
    return Previews(folder, {**os.environ, "KUBECONFIG": "/nowhere"})


def only_tenant(preview: dict[str, Any]) -> dict[str, Any]:
    (tenant,) = preview["tenants"]
    found: dict[str, Any] = tenant
    return found


def rules(preview: dict[str, Any]) -> list[str]:
    every = [*preview["faults"], *(one for tenant in preview["tenants"] for one in tenant["findings"])]
    return [finding["rule"] for finding in every]

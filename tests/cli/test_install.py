"""The installed package works without the checkout: the `tenancy` command, the watcher and the library."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from cli.version import VERSION
from tenancy.spec.crd import crds
from tests.cli.conftest import Run
from tests.platform import ROOT

InFresh = Callable[..., str]

# Prints the version of the package, and the installed version of each dependency.
_VERSIONS = """
import json, sys
from importlib.metadata import requires, version
from packaging.requirements import Requirement
asked = {text: version(Requirement(text).name) for text in requires("tenancy")}
json.dump({"own": version("tenancy"), "asked": asked}, sys.stdout)
"""


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> InFresh:
    """Install the package in a new virtual environment, and return a function that runs a command there.

    The new environment uses the dependencies and build tools of the running environment, so that no test
    needs a network.
    """
    folder = tmp_path_factory.mktemp("fresh")
    # Build from a copy of the sources. A build leaves files next to the sources, and the next build would
    # include these files.
    source = folder / "source"
    source.mkdir()
    shutil.copy(ROOT / "pyproject.toml", source)
    for package in ("tenancy", "stacks", "cluster", "watcher", "cli"):
        shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    python = folder / "venv" / "bin" / "python"
    packages = folder / "venv" / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    (packages / "locked.pth").write_text(sysconfig.get_path("purelib"))
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    subprocess.run(
        [*pip, "--no-index", "--no-deps", "--no-build-isolation", str(source)], cwd=folder, check=True
    )

    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"

    def run(name: str, *arguments: str) -> str:
        command = [str(shutil.which(name, path=path)), *arguments]
        environment = {**os.environ, "PATH": path}
        return subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=True
        ).stdout

    return run


def dependencies() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    requirements: list[str] = project["dependencies"]
    return requirements


def test_installed_command_and_watcher_work_without_the_checkout(fresh: InFresh) -> None:
    assert "Manage tenants on Kubernetes" in fresh("tenancy", "--help")
    assert fresh("tenancy", "--version").strip() == VERSION
    assert list(yaml.safe_load_all(fresh("tenancy", "crd"))) == crds()
    assert "--plans-configmap" in fresh("python", "-m", "watcher", "--help")


def test_kubectl_finds_the_plugin_and_its_completion(fresh: InFresh, tools: dict[str, Path]) -> None:
    def kubectl(*arguments: str) -> str:
        return fresh(str(tools["kubectl"]), *arguments)

    help_text = kubectl("tenancy", "list", "--help")
    assert "Usage: kubectl tenancy list [OPTIONS] [NAME]..." in help_text
    assert kubectl("tenancy", "--version").strip() == VERSION
    assert "--install-completion" not in kubectl("tenancy", "--help")
    assert kubectl("__complete", "tenancy", "desc").split() == ["describe", ":0"]
    assert kubectl("__complete", "tenancy", "list", "--output", "w").split() == ["wide", ":0"]
    # If the command completes nothing, the shell completes file names.
    assert kubectl("__complete", "tenancy", "apply", "-f", "").split() == [":0"]


def test_package_asks_for_all_that_the_product_runs_on() -> None:
    product = (ROOT / "requirements.in").read_text().partition("# What its developers run.")[0]

    def names(lines: list[str]) -> set[str]:
        return {match[0].lower() for line in lines if (match := re.match(r"[A-Za-z][-\w.]*", line))}

    assert names(dependencies()) == names(product.splitlines())


def test_each_range_in_the_package_holds_the_version_in_the_lock(fresh: InFresh) -> None:
    versions = json.loads(fresh("python", "-c", _VERSIONS))
    assert versions["own"] == VERSION
    asked = {Requirement(text): version for text, version in versions["asked"].items()}
    assert asked.keys() == {Requirement(text) for text in dependencies()}
    lock = (ROOT / "requirements.lock").read_text().lower()
    for requirement, version in asked.items():
        assert version in requirement.specifier, f"{requirement} is not {version}"
        assert f"\n{requirement.name.lower()}=={version} " in lock


def test_completion_script_is_printed_for_a_shell_by_its_name(tenancy: Run) -> None:
    result = tenancy("--show-completion", "bash")
    assert result.returncode == 0, result.stderr
    assert "complete -o default -F" in result.stdout
    assert "tenancy" in result.stdout
    words = tenancy(_TENANCY_COMPLETE="complete_bash", COMP_WORDS="tenancy do", COMP_CWORD="1").stdout
    assert words.split() == ["doctor"]

"""The package that `pip install .` makes: the command, the watcher and the library, without the checkout."""

import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from collections.abc import Callable

import pytest
import yaml

from cli.version import VERSION
from tenancy.crd import crds
from tests.cli.conftest import Run
from tests.platform import ROOT

InFresh = Callable[..., str]


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> InFresh:
    """A new environment with the package. What it depends on comes from this one, which has the lock's."""
    folder = tmp_path_factory.mktemp("fresh")
    # A build leaves files beside its sources, which the next one would take in.
    source = folder / "source"
    source.mkdir()
    shutil.copy(ROOT / "pyproject.toml", source)
    for package in ("tenancy", "stacks", "watcher", "cli"):
        shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    python = folder / "venv" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    subprocess.run([*pip, "install", "--no-deps", "--quiet", str(source)], cwd=folder, check=True)
    packages = folder / "venv" / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    (packages / "locked.pth").write_text(sysconfig.get_path("purelib"))

    def run(name: str, *arguments: str) -> str:
        command = [str(python.with_name(name)), *arguments]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout

    return run


def test_installed_command_and_watcher_work_without_the_checkout(fresh: InFresh) -> None:
    assert "Tenants on Kubernetes" in fresh("tenancy", "--help")
    assert fresh("tenancy", "--version").strip() == VERSION
    assert list(yaml.safe_load_all(fresh("tenancy", "crd"))) == crds()
    assert "--plans-configmap" in fresh("python", "-m", "watcher", "--help")
    assert (
        fresh("python", "-c", "from importlib.metadata import version; print(version('tenancy'))").strip()
        == VERSION
    )


def test_package_asks_for_all_that_the_product_runs_on() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    product = (ROOT / "requirements.in").read_text().partition("# What its developers run.")[0]

    def names(lines: list[str]) -> set[str]:
        return {found[0].lower() for line in lines if (found := re.match(r"[A-Za-z][-\w.]*", line))}

    assert names(project["dependencies"]) == names(product.splitlines())


def test_environment_has_what_the_package_asks_for(fresh: InFresh) -> None:
    """As pip sees it: each range in pyproject.toml holds the version in the lock."""
    told = subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "--python",
            fresh("python", "-c", "import sys; print(sys.executable)").strip(),
            "check",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert not [line for line in told.stdout.splitlines() if line.startswith("tenancy ")], told.stdout


def test_completion_script_is_printed_for_a_shell_by_its_name(tenancy: Run) -> None:
    told = tenancy("--show-completion", "bash")
    assert told.returncode == 0, told.stderr
    assert "complete -o default -F" in told.stdout
    assert "tenancy" in told.stdout
    words = tenancy(_TENANCY_COMPLETE="complete_bash", COMP_WORDS="tenancy do", COMP_CWORD="1").stdout
    assert words.split() == ["doctor"]

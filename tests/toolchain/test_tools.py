"""The table of tools: versions match the Python packages, and cache keys change with the build."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from embedded.environment import LOCK_FILE
from embedded.toolchain.tools import TEST_TOOLS, TOOLS, cache_key, version_in

ETCD = TOOLS["etcd"]


@pytest.mark.parametrize(
    ("package", "tool"), [("pulumi", "pulumi"), ("pulumi-kubernetes", "pulumi-resource-kubernetes")]
)
def test_python_packages_and_binaries_have_the_same_version(package: str, tool: str) -> None:
    requirement = re.search(rf"^{package}==(\S+)", LOCK_FILE.read_text(), re.M)
    assert requirement
    assert requirement[1] == TOOLS[tool].version


def test_another_checkout_has_the_same_cache_keys(tmp_path: Path) -> None:
    shutil.copytree(ETCD.folder, tmp_path / "elsewhere")
    assert cache_key(replace(ETCD, folder=tmp_path / "elsewhere")) == cache_key(ETCD)


@pytest.mark.parametrize("name", ["go.mod", "go.sum", "main.go", "sdk/kinds.go"])
def test_cache_key_changes_with_every_file_of_the_module(tmp_path: Path, name: str) -> None:
    shutil.copytree(ETCD.folder, tmp_path / "elsewhere")
    file = tmp_path / "elsewhere" / name
    file.parent.mkdir(exist_ok=True)
    with file.open("a") as source:
        source.write("// changed\n")
    assert cache_key(replace(ETCD, folder=tmp_path / "elsewhere")) != cache_key(ETCD)


def test_cache_key_changes_with_the_recipe() -> None:
    others = [replace(ETCD, ldflags="-s"), replace(ETCD, tags="a")]
    keys = {cache_key(tool) for tool in (ETCD, *others)}
    assert len(keys) == 3


def test_module_that_is_not_required_has_no_version(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("module m\n\nrequire example.test/a v1.2.3\n")
    assert version_in(tmp_path, "example.test/a") == "1.2.3"
    with pytest.raises(LookupError, match=r"example\.test/b"):
        version_in(tmp_path, "example.test/b")


def test_tools_of_the_tests_are_not_those_a_user_waits_for() -> None:
    assert set(TEST_TOOLS) == {"gatekeeper", "coredns", "metrics-server", "promtool"}
    assert not TEST_TOOLS.keys() & TOOLS.keys()

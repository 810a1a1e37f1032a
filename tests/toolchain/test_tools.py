"""The table of tools: versions match the Python packages, and a changed build changes the cache key."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from embedded.environment import LOCK_FILE, ROOT
from embedded.toolchain.compiler import COMPILER_FLAGS
from embedded.toolchain.tools import ENGINE, STACK_TOOLS, TEST_TOOLS, TOOLS, cache_key, version_in

ETCD, PULUMI = TOOLS["etcd"], TOOLS["pulumi"]


@pytest.mark.parametrize(
    ("package", "tool"),
    [
        ("pulumi", "pulumi"),
        ("pulumi", "pulumi-language-python"),
        ("pulumi", "tenancy-engine"),
        ("pulumi-kubernetes", "pulumi-resource-kubernetes"),
    ],
)
def test_python_packages_and_binaries_have_the_same_version(package: str, tool: str) -> None:
    requirement = re.search(rf"^{package}==(\S+)", LOCK_FILE.read_text(), re.M)
    assert requirement
    assert requirement[1] == TOOLS[tool].version


def test_another_checkout_has_the_same_cache_keys(tmp_path: Path) -> None:
    shutil.copytree(ETCD.folder, tmp_path / "elsewhere")
    assert cache_key(replace(ETCD, folder=tmp_path / "elsewhere")) == cache_key(ETCD)


@pytest.mark.parametrize(
    ("name", "changed_tools"),
    [
        ("go.mod", {"pulumi", ENGINE}),
        ("go.sum", {"pulumi", ENGINE}),
        ("main.go", {ENGINE}),
        ("pool/pool.go", {ENGINE}),
        ("pool/pool_test.go", set()),
    ],
)
def test_code_of_the_engine_changes_its_own_cache_key_and_not_that_of_the_cli(
    tmp_path: Path, name: str, changed_tools: set[str]
) -> None:
    folder = tmp_path / "elsewhere"
    shutil.copytree(PULUMI.folder, folder)
    file = folder / name
    file.parent.mkdir(exist_ok=True)
    with file.open("a") as source:
        source.write("// changed\n")
    tools = (PULUMI, TOOLS[ENGINE])
    changed = {tool.name for tool in tools if cache_key(replace(tool, folder=folder)) != cache_key(tool)}
    assert changed == changed_tools


def test_cli_and_engine_are_built_from_one_module_with_the_version_of_pulumi() -> None:
    engine = TOOLS[ENGINE]
    assert (engine.folder, engine.version, engine.ldflags) == (PULUMI.folder, PULUMI.version, PULUMI.ldflags)


def test_cache_key_changes_with_the_recipe() -> None:
    others = [replace(ETCD, ldflags="-s"), replace(ETCD, tags="a")]
    keys = {cache_key(tool) for tool in (ETCD, *others)}
    keys |= {cache_key(ETCD, flags) for flags in ((), COMPILER_FLAGS[:-1], COMPILER_FLAGS)}
    assert len(keys) == 5


def test_module_that_is_not_required_has_no_version(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("module m\n\nrequire example.test/a v1.2.3\n")
    assert version_in(tmp_path, "example.test/a") == "1.2.3"
    with pytest.raises(LookupError, match=r"example\.test/b"):
        version_in(tmp_path, "example.test/b")


def test_tools_of_the_tests_are_not_those_a_user_waits_for() -> None:
    assert set(TEST_TOOLS) == {"gatekeeper", "coredns", "metrics-server", "promtool", "rclone"}
    assert not TEST_TOOLS.keys() & TOOLS.keys()


def test_image_contains_the_tools_of_the_watcher() -> None:
    final_stage = (ROOT / "Dockerfile").read_text().rpartition("\nFROM ")[2]
    assert set(re.findall(r"/usr/local/bin/([\w-]+)", final_stage)) == set(STACK_TOOLS)

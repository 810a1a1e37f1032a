"""The warm engine and the Pulumi CLI write the same state.

Each of them can update a stack that the other has written.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stacks.command import PulumiProcess
from stacks.errors import StackBusy
from stacks.stack import Stacks
from tests.checkpoint import read_json
from tests.conftest import CrdFiles
from tests.integrations.crds import install_crds, needed_crds, remove_crds
from tests.stacks.conftest import desired
from tests.stacks.warm import Warm, in_background
from tests.waiting import eventually

# Fields of a resource in the state that always differ between two updates.
_VOLATILE = ("created", "modified", "sourcePosition", "stackTrace")


@pytest.fixture(scope="module")
def cli(warm: Warm, tmp_path_factory: pytest.TempPathFactory) -> Stacks:
    """The stacks of the same backend, with the Pulumi CLI instead of the warm engine."""
    stacks = Stacks(f"file://{warm.backend}", tmp_path_factory.mktemp("cli"), PulumiProcess(timeout_s=120))
    stacks.prepare()
    return stacks


@pytest.fixture(scope="module")
def integration_crds(warm: Warm, crd_files: CrdFiles) -> Iterator[None]:
    crds = needed_crds([*crd_files("istio"), *crd_files("hnc")])
    install_crds(warm.platform.admin, crds)
    yield
    remove_crds(warm.platform.admin, crds)


def resources(state_file: Path) -> dict[str, dict[str, Any]]:
    """The resources in the state, keyed by URN. The random ID of the provider resource is removed."""
    latest = read_json(state_file)["checkpoint"]["latest"]
    provider_id = next(resource["id"] for resource in latest["resources"] if "providers" in resource["type"])
    text = json.dumps(latest["resources"]).replace(provider_id, "id")
    entries = json.loads(text)
    for resource in entries:
        resource["dependencies"] = sorted(resource.get("dependencies") or ())  # The order has no meaning.
    return {
        resource["urn"]: {
            field: resource[field]
            for field in resource
            # The outputs of an object contain its UID and its resource version.
            if field not in (*_VOLATILE, *(("outputs",) if resource["custom"] else ()))
        }
        for resource in entries
    }


@pytest.mark.usefixtures("integration_crds")
@pytest.mark.parametrize("policy", ["Delete", "Retain"])
def test_both_engines_write_the_same_state(warm: Warm, cli: Stacks, policy: str) -> None:
    state = desired(
        f"parity-{policy.lower()}",
        namespaces=[{"name": name} for name in "abc"],
        adminUsers=["alice"],
        deletionPolicy=policy,
        istio={"enabled": True},
        hnc={"enabled": True},
        gatekeeper={"enabled": False},
        hostnames=["parity.example.com"] if policy == "Retain" else [],
    )
    assert {"PeerAuthentication", "HierarchyConfiguration"} <= {each["kind"] for each in state.manifests}
    warm.stacks.up(state, "spec generation 1")
    by_engine = resources(warm.state_file(state.tenant))
    assert cli.preview(state).counts == {"same": len(state.manifests) + 2}
    cli.forget(state.tenant)
    cli.up(state, "spec generation 1")
    by_cli = resources(warm.state_file(state.tenant))
    assert warm.stacks.preview(state).counts == {"same": len(state.manifests) + 2}

    assert by_engine.keys() == by_cli.keys()
    assert len(by_engine) == len(state.manifests) + 3  # the stack, the component and the provider
    for urn, resource in by_cli.items():
        assert by_engine[urn] == resource
    is_retained = [resource.get("retainOnDelete", False) for resource in by_engine.values()]
    assert sum(is_retained) == (3 if policy == "Retain" else 0)


def test_engine_and_cli_exclude_each_other_by_the_lock(warm: Warm, cli: Stacks) -> None:
    holder = warm.stacks
    for other in (cli, warm.stacks):
        name = "locked-by-engine" if holder is warm.stacks else "locked-by-cli"
        with warm.held(name):
            running = in_background(lambda: holder.up(desired(name), "spec generation 1"))  # noqa: B023
            warm.await_namespace(name)
            with pytest.raises(StackBusy) as error:
                other.up(desired(name), "spec generation 1")
            (lock,) = error.value.locks
            assert (lock.pid == warm.pid) is (holder is warm.stacks)
        assert running.result(timeout=120) is not None
        assert not warm.locks(name)
        holder = cli
    assert [update.version for update in warm.stacks.history("locked-by-cli")] == [1]


def test_second_operation_of_the_engine_on_a_stack_is_rejected(warm: Warm) -> None:
    with warm.held("twice"):
        running = in_background(lambda: warm.stacks.up(desired("twice"), "spec generation 1"))
        eventually(lambda: warm.is_running("twice"), "the first operation is running")
        with pytest.raises(StackBusy, match="another operation on this stack is running"):
            warm.stacks.up(desired("twice"), "spec generation 1")
    assert running.result(timeout=120) is not None

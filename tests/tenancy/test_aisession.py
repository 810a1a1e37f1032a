"""The CRD of AISession: validation and defaults by the API server, and a spec that cannot be changed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.served_kinds import is_served
from embedded.controlplane.plane import ControlPlane
from tenancy.base.kinds import AISESSION
from tenancy.base.manifest import Manifest
from tenancy.spec.aisession import AISessionSpec, duration_s
from tenancy.spec.crd import aisession_crd
from tests.waiting import eventually

SPEC = {"tenantRef": {"name": "any"}, "sessionType": "analysis"}


@pytest.fixture(scope="module")
def cluster(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster that contains only the CRD.

    It has no admission policies, and no watcher that writes the status.
    """
    with ControlPlane(tools, tmp_path_factory.mktemp("aisession"), is_throw_away=True) as plane:
        admin = Cluster.connect(plane.kubeconfig)
        admin.apply(aisession_crd())
        eventually(lambda: is_served(admin, AISESSION), "AISessions are served")
        yield admin


@pytest.fixture
def session(cluster: Cluster) -> Iterator[Manifest]:
    yield create_session(cluster, SPEC)
    cluster.delete(AISESSION, "one", "default")


def create_session(cluster: Cluster, spec: dict[str, Any]) -> Manifest:
    return cluster.create(
        AISESSION,
        {
            "apiVersion": AISESSION.api_version,
            "kind": AISESSION.kind,
            "metadata": {"name": "one", "namespace": "default"},
            "spec": spec,
        },
    )


def test_what_is_left_out_is_filled_in_as_the_model_does(session: Manifest) -> None:
    assert session["spec"] == {
        **SPEC,
        "resources": {"cpu": "500m", "memory": "1Gi"},
        "timeout": "30m",
    }
    model = AISessionSpec.model_validate(SPEC)
    assert model.model_dump(mode="json", by_alias=True, exclude_none=True) == session["spec"]
    assert duration_s(model.timeout) == 1800


INVALID_SPECS: dict[str, dict[str, Any]] = {
    "tenantRef": {"sessionType": "analysis"},
    "tenantRef.name": {**SPEC, "tenantRef": {"name": "Not A Name"}},
    "sessionType": {**SPEC, "sessionType": "chat"},
    "aiModel": {**SPEC, "aiModel": ""},
    "resources.cpu": {**SPEC, "resources": {"cpu": "much"}},
    "resources.memory": {**SPEC, "resources": {"memory": "-1Gi"}},
    "timeout": {**SPEC, "timeout": "soon"},
}


@pytest.mark.parametrize("field", INVALID_SPECS)
def test_bad_field_is_refused_by_its_name(cluster: Cluster, field: str) -> None:
    with pytest.raises(ClusterError, match=rf"spec\.{field}"):
        create_session(cluster, INVALID_SPECS[field])


@pytest.mark.parametrize("timeout", ["0s", "169h", "30", "1m1h"])
def test_timeout_is_a_duration_of_at_most_a_week_in_schema_and_model(cluster: Cluster, timeout: str) -> None:
    with pytest.raises(ClusterError, match=r"spec\.timeout"):
        create_session(cluster, {**SPEC, "timeout": timeout})
    with pytest.raises(ValueError, match="timeout"):
        AISessionSpec.model_validate({**SPEC, "timeout": timeout})


@pytest.mark.parametrize("field", ["cpu", "memory"])
@pytest.mark.parametrize("amount", ["0", "0Mi", 0])
def test_session_asks_for_something(cluster: Cluster, field: str, amount: str | int) -> None:
    """For a container, a limit of 0 means that there is no limit.

    The session would not count against the quota.
    """
    spec = {**SPEC, "resources": {field: amount}}
    with pytest.raises(ClusterError, match=rf"spec\.resources\.{field}.*more than 0"):
        create_session(cluster, spec)
    with pytest.raises(ValueError, match="more than 0"):
        AISessionSpec.model_validate(spec)


def test_spec_can_be_changed_until_the_session_runs(cluster: Cluster, session: Manifest) -> None:
    def change(**spec: Any) -> None:
        cluster.patch(AISESSION, "one", {"spec": spec}, namespace="default")

    def set_phase(phase: str, **fields: str) -> None:
        status = {"status": {"phase": phase, **fields}}
        cluster.patch(AISESSION, "one", status, namespace="default", subresource="status")

    assert "status" not in session
    change(timeout="1h30m")
    set_phase("Pending")
    change(aiModel="large")
    set_phase("Pending", job="aisession-one")
    with pytest.raises(ClusterError, match="can't be changed once the session runs"):
        change(aiModel="larger")
    set_phase("Running")
    with pytest.raises(ClusterError, match="can't be changed once the session runs"):
        change(aiModel="larger")
    # Labels can be changed at any time.
    cluster.patch(AISESSION, "one", {"metadata": {"labels": {"a": "b"}}}, namespace="default")
    set_phase("Completed")
    with pytest.raises(ClusterError, match="can't be changed once the session runs"):
        change(timeout="2h")

"""A Gatekeeper that has stopped denies nothing and leaves no kinds behind: other tests share the cluster."""

from pathlib import Path

from embedded.controlplane.plane import ControlPlane
from tenancy.kinds import CRD
from tests.conftest import CrdFiles
from tests.integrations.gatekeeper import running_gatekeeper
from tests.integrations.test_gatekeeper import POD, REGO, constraint, pod, template
from watcher.cluster import Cluster


def test_stopped_gatekeeper_leaves_nothing_behind(
    gatekeeper_binary: Path, control_plane: ControlPlane, crd_files: CrdFiles, tmp_path: Path
) -> None:
    crds = crd_files("gatekeeper")
    with running_gatekeeper(gatekeeper_binary, control_plane, crds, tmp_path) as running:
        running.add_template(template("LabelledForAMoment", REGO))
        running.add_constraint(constraint("LabelledForAMoment", "default"))
    admin = Cluster.connect(control_plane.kubeconfig)
    created = admin.create(POD, pod("default"))
    admin.delete(POD, created["metadata"]["name"], "default")
    assert not [crd for crd in admin.list(CRD)[0] if crd["metadata"]["name"].endswith("gatekeeper.sh")]

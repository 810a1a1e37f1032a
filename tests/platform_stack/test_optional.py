"""What needs another project's CRDs is left out with a warning, until they have arrived."""

from tenancy.kinds import CRD
from tenancy.platform.manifests import optional_kinds, platform_manifests
from tenancy.platform.settings import PlatformSettings
from tests.conftest import CrdFiles
from tests.platform import Platform
from tests.platform_stack.conftest import IMAGE, uids, up
from tests.waiting import eventually
from watcher.integrations import is_served

SETTINGS = PlatformSettings(image=IMAGE, monitoring_labels={"release": "mine"})
KINDS = optional_kinds(SETTINGS)
MANIFESTS = [
    manifest
    for manifest in platform_manifests(SETTINGS, KINDS)
    if manifest not in platform_manifests(SETTINGS, ())
]


def test_absent_crds_are_named_and_what_needs_them_is_added_once_they_are_there(
    empty: Platform, crd_files: CrdFiles
) -> None:
    told = up(empty)
    assert "left out, because the cluster lacks these CRDs" in told
    assert {kind.kind for kind in KINDS if kind.crd in told} == {
        "PrometheusRule",
        "ServiceMonitor",
        "ConstraintTemplate",
        "HNCConfiguration",
    }

    wanted = [kind.crd for kind in KINDS]
    for project in ("prometheus", "gatekeeper", "hnc"):
        for crd in crd_files(project):
            if crd["metadata"]["name"] in wanted:
                empty.apply(crd)
    eventually(lambda: all(is_served(empty.admin, kind) for kind in KINDS), "all kinds are served")
    told = up(empty, monitoringLabels='{"release": "mine"}')
    assert "left out" not in told
    assert len(uids(empty, MANIFESTS)) == len(MANIFESTS) == 5
    [monitor] = empty.admin.list(next(kind for kind in KINDS if kind.kind == "ServiceMonitor"))[0]
    assert monitor["metadata"]["labels"]["release"] == "mine"


def test_crds_that_leave_again_do_not_break_the_next_up(empty: Platform) -> None:
    for kind in KINDS:
        empty.admin.delete(CRD, kind.crd)
    eventually(lambda: not any(empty.admin.get(CRD, kind.crd) for kind in KINDS), "the CRDs are gone")
    told = up(empty)
    assert all(kind.crd in told for kind in KINDS)

"""The watcher's pod keeps the record of use where it lasts, and may read figures of pods, not pods."""

from typing import NamedTuple

from tenancy.base.kinds import POD_METRICS
from tenancy.platform.settings import PlatformSettings
from tenancy.platform.watcher_rights import watcher_rbac
from tenancy.platform.watcher_workload import watcher_workload


class Kept(NamedTuple):
    """Where the record of use is, where a volume is mounted, and how large that is."""

    record: str
    volume: str
    size: str


def kept(**settings: str) -> Kept | None:
    """None: there is no volume, and the record is in the run folder."""
    _, stateful_set = watcher_workload(PlatformSettings.model_validate({"image": "watcher:1", **settings}))
    [container] = stateful_set["spec"]["template"]["spec"]["containers"]
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    if "state" not in mounts:
        assert "--usage-db" not in container["args"]
        assert "volumeClaimTemplates" not in stateful_set["spec"]
        return None
    [claim] = stateful_set["spec"]["volumeClaimTemplates"]
    assert claim["metadata"]["name"] == "state"
    record = container["args"][container["args"].index("--usage-db") + 1]
    return Kept(record, mounts["state"], claim["spec"]["resources"]["requests"]["storage"])


def test_record_of_use_is_on_the_volume_of_the_state() -> None:
    assert kept() == Kept("/var/lib/tenancy/usage.db", "/var/lib/tenancy", "1Gi")
    elsewhere = kept(backend="file:///var/lib/elsewhere", storage="5Gi")
    assert elsewhere == Kept("/var/lib/elsewhere/usage.db", "/var/lib/elsewhere", "5Gi")


def test_record_of_use_has_a_volume_of_its_own_where_the_state_has_none_and_one_is_asked_for() -> None:
    assert kept(backend="s3://bucket", storage="2Gi") == Kept(
        "/var/lib/tenancy/usage.db", "/var/lib/tenancy", "2Gi"
    )
    assert kept(backend="s3://bucket") is None


def test_watcher_may_follow_pods_and_read_their_figures_and_no_more() -> None:
    [role] = [found for found in watcher_rbac() if found["kind"] == "ClusterRole"]
    for group, verbs in (("", ["list", "watch"]), (POD_METRICS.group, ["list"])):
        [rule] = [
            rule
            for rule in role["rules"]
            if group in rule["apiGroups"] and any(name.startswith("pods") for name in rule["resources"])
        ]
        assert rule == {"apiGroups": [group], "resources": ["pods"], "verbs": verbs}

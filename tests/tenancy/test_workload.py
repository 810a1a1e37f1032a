"""The watcher's StatefulSet or Deployment, and its permissions on pods."""

from typing import NamedTuple

from tenancy.base.kinds import POD_METRICS
from tenancy.platform.settings import PlatformSettings
from tenancy.platform.watcher_rights import watcher_rbac
from tenancy.platform.watcher_workload import watcher_workload


class UsageStorage(NamedTuple):
    """The path of the usage database, and the mount path and size of its volume."""

    database: str
    mount_path: str
    size: str


def usage_storage(**settings: str) -> UsageStorage | None:
    """The storage of the usage database, or None if there is no volume.

    Without a volume, the database is in the watcher's run folder.
    """
    *_, stateful_set = watcher_workload(PlatformSettings.model_validate({"image": "watcher:1", **settings}))
    [container] = stateful_set["spec"]["template"]["spec"]["containers"]
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    if "state" not in mounts:
        assert "--usage-db" not in container["args"]
        assert "volumeClaimTemplates" not in stateful_set["spec"]
        return None
    [claim] = stateful_set["spec"]["volumeClaimTemplates"]
    assert claim["metadata"]["name"] == "state"
    database = container["args"][container["args"].index("--usage-db") + 1]
    return UsageStorage(database, mounts["state"], claim["spec"]["resources"]["requests"]["storage"])


def test_record_of_use_is_on_the_volume_of_the_state() -> None:
    assert usage_storage() == UsageStorage("/var/lib/tenancy/usage.db", "/var/lib/tenancy", "1Gi")
    other_backend = usage_storage(backend="file:///var/lib/elsewhere", storage="5Gi")
    assert other_backend == UsageStorage("/var/lib/elsewhere/usage.db", "/var/lib/elsewhere", "5Gi")


def test_watcher_with_another_backend_is_a_deployment_of_two_pods_without_a_volume() -> None:
    assert usage_storage(backend="s3://bucket", storage="2Gi") is None
    settings = PlatformSettings(image="watcher:1", backend="s3://states", workers=2)
    service, budget, deployment = watcher_workload(settings)
    assert (deployment["kind"], deployment["spec"]["replicas"]) == ("Deployment", 2)
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    assert {"name": "PULUMI_BACKEND_URL", "value": "s3://states"} in container["env"]
    assert [mount["name"] for mount in container["volumeMounts"]] == ["tmp", "run"]
    assert container["resources"]["limits"] == {"cpu": "2", "memory": "1280Mi"}
    # A drain is never blocked: one pod can be evicted, and a pod that is not ready too.
    assert (budget["spec"]["maxUnavailable"], budget["spec"]["unhealthyPodEvictionPolicy"]) == (
        1,
        "AlwaysAllow",
    )
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"] == budget["spec"]["selector"]["matchLabels"] == labels
    # The pods are on different nodes where this is possible.
    (affinity,) = deployment["spec"]["template"]["spec"]["affinity"]["podAntiAffinity"].values()
    assert affinity[0]["podAffinityTerm"]["labelSelector"]["matchLabels"] == labels


def test_watcher_may_follow_pods_and_read_their_figures_and_no_more() -> None:
    [role] = [manifest for manifest in watcher_rbac() if manifest["kind"] == "ClusterRole"]
    for group, verbs in (("", ["list", "watch"]), (POD_METRICS.group, ["list"])):
        [rule] = [
            rule
            for rule in role["rules"]
            if group in rule["apiGroups"] and any(name.startswith("pods") for name in rule["resources"])
        ]
        assert rule == {"apiGroups": [group], "resources": ["pods"], "verbs": verbs}

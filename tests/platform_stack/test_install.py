"""On an empty cluster, `pulumi up --stack platform` installs every object according to the settings."""

from cluster.served_kinds import is_served
from tenancy.base.kinds import CONFIG_MAP, CRD, NAMESPACE, kind_of
from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import PLANS_CONFIG_MAP, SHARED_NAMESPACE, SYSTEM_NAMESPACE, WATCHER
from tenancy.plans import SHIPPED_PLANS
from tenancy.platform.manifests import optional_kinds, platform_manifests
from tenancy.platform.namespaces import platform_network_policies
from tenancy.platform.settings import PlatformSettings
from tenancy.platform.watcher_workload import watcher_workload
from tenancy.spec.crd import crds
from tests.conftest import CrdFiles
from tests.platform import ROOT, Platform, tenant_manifest
from tests.platform_stack.conftest import IMAGE, IMAGE_ONLY, Kubectl, PlatformStack, live, uids
from tests.waiting import eventually

SETTINGS = PlatformSettings(image=IMAGE, plans=SHIPPED_PLANS.read_text(encoding="utf-8"))
WITH_LABELS = PlatformSettings(image=IMAGE, monitoring_labels={"release": "mine"})
KINDS = optional_kinds(WITH_LABELS)
OPTIONAL = [
    manifest
    for manifest in platform_manifests(WITH_LABELS, KINDS)
    if manifest not in platform_manifests(WITH_LABELS, ())
]

_, STATEFUL_SET = watcher_workload(PlatformSettings(image=IMAGE))
[EGRESS_POLICY] = [
    manifest
    for manifest in platform_network_policies(SETTINGS)
    if manifest["metadata"]["name"] == "allow-api-server-and-backend"
]


def stateful_set(platform: Platform) -> Manifest:
    manifest = live(platform, STATEFUL_SET)
    assert manifest is not None
    return manifest


def test_up_installs_every_object_and_a_second_one_has_nothing_to_change(deployed: PlatformStack) -> None:
    manifests = platform_manifests(SETTINGS)
    absent = [manifest["metadata"] for manifest in manifests if not live(deployed.platform, manifest)]
    assert absent == []
    completed = deployed.platform.pulumi(
        "platform", "preview", "--expect-no-changes", f"--config=image={IMAGE}"
    )
    assert completed.returncode == 0, completed.stdout + completed.stderr
    assert f"{len(manifests) + 2} unchanged" in completed.stdout


def test_watcher_builds_a_tenant_with_the_rights_that_were_installed(installed: PlatformStack) -> None:
    platform, manifest = installed.platform, tenant_manifest("first", plan="basic")
    platform.apply(manifest)
    platform.await_active(manifest)
    platform.delete(manifest)
    platform.await_gone(manifest)


def test_plans_file_is_checked_and_becomes_the_config_map(deployed: PlatformStack) -> None:
    platform = deployed.platform
    config_map = platform.admin.get(CONFIG_MAP, PLANS_CONFIG_MAP, SYSTEM_NAMESPACE)
    assert config_map is not None
    assert config_map["data"]["plans.yaml"] == (ROOT / "tenancy" / "plans.yaml").read_text(encoding="utf-8")
    broken = platform.folder / "broken.yaml"
    broken.write_text("plans: {small: {maxNamespaces: 0}}")
    completed = platform.pulumi("platform", "preview", f"--config=plans={broken}")
    assert completed.returncode != 0
    assert "plans file plans.small.maxNamespaces" in completed.stdout


def test_bad_setting_is_refused_by_its_name(deployed: PlatformStack) -> None:
    completed = deployed.platform.pulumi(
        "platform", "preview", "--config=backend=postgres://me:secret@db/states"
    )
    assert completed.returncode != 0
    assert "pulumi config.backend: contains a password" in completed.stdout


def test_shared_namespace_lets_managed_tenants_in_and_nothing_else(deployed: PlatformStack) -> None:
    admin = deployed.platform.admin
    shared = admin.get(NAMESPACE, SHARED_NAMESPACE)
    assert shared is not None
    assert shared["metadata"]["labels"]["platform.ai/shared"] == "true"
    kind = kind_of({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy"})
    specs = {
        policy["metadata"]["name"]: policy["spec"]
        for policy in admin.list(kind)[0]
        if policy["metadata"]["namespace"] == SHARED_NAMESPACE
    }
    managed = {"namespaceSelector": {"matchLabels": {"tenant.platform.ai/managed": "true"}}}
    assert {name: spec.get("ingress") for name, spec in specs.items()} == {
        "default-deny-all": None,
        "allow-tenants": [{"from": [managed]}],
        "allow-dns": None,
    }
    assert [name for name, spec in specs.items() if spec.get("egress")] == ["allow-dns"]
    assert all(spec["policyTypes"] == ["Ingress", "Egress"] for spec in specs.values())


def test_objects_of_other_projects_come_with_their_crds_and_break_nothing_when_those_leave(
    empty: PlatformStack, crd_files: CrdFiles
) -> None:
    platform = empty.platform
    output = empty.up(**IMAGE_ONLY)
    assert "left out, because the cluster lacks these CRDs" in output
    assert {kind.kind for kind in KINDS if kind.crd in output} == {
        "PrometheusRule",
        "ServiceMonitor",
        "ConstraintTemplate",
        "HNCConfiguration",
    }

    crd_names = [kind.crd for kind in KINDS]
    for project in ("prometheus", "gatekeeper", "hnc"):
        for crd in crd_files(project):
            if crd["metadata"]["name"] in crd_names:
                platform.apply(crd)
    eventually(lambda: all(is_served(platform.admin, kind) for kind in KINDS), "all kinds are served")
    settings = {
        "monitoringLabels": '{"release": "mine"}',
        "clusterNetworks": '["10.0.0.0/16", "fd00::/48"]',
        "protectMetrics": "true",
    }
    output = empty.up(**IMAGE_ONLY, **settings)
    assert "left out" not in output
    assert len(uids(platform, OPTIONAL)) == len(OPTIONAL) == 5
    [monitor] = platform.admin.list(next(kind for kind in KINDS if kind.kind == "ServiceMonitor"))[0]
    assert monitor["metadata"]["labels"]["release"] == "mine"
    system = platform.admin.get(NAMESPACE, SYSTEM_NAMESPACE) or {}
    assert system["metadata"]["annotations"]["policy.platform.ai/cluster-networks"] == "10.0.0.0/16,fd00::/48"
    assert monitor["spec"]["endpoints"][0]["bearerTokenFile"]
    [container] = stateful_set(platform)["spec"]["template"]["spec"]["containers"]
    assert "--protect-metrics" in container["args"]

    for kind in KINDS:
        platform.admin.delete(CRD, kind.crd)
    eventually(lambda: not any(platform.admin.get(CRD, kind.crd) for kind in KINDS), "the CRDs are gone")
    output = empty.up(**IMAGE_ONLY)
    assert all(kind.crd in output for kind in KINDS)


def test_pod_is_accepted_under_restricted_pod_security(deployed: PlatformStack, kubectl: Kubectl) -> None:
    template = stateful_set(deployed.platform)["spec"]["template"]
    # The StatefulSet controller would add the volume of the claim. The pod of this test uses an emptyDir
    # instead.
    volumes = [*template["spec"]["volumes"], {"name": "state", "emptyDir": {}}]
    pod = {**template["spec"], "volumes": volumes}

    def create_output(spec: Manifest) -> str:
        metadata = {**template["metadata"], "name": "probe", "namespace": SYSTEM_NAMESPACE}
        manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        completed = kubectl("create", "--dry-run=server", "-f", "-", stdin=manifest)
        return completed.stdout + completed.stderr

    assert "pod/probe created" in create_output(pod)
    as_root = {**pod, "securityContext": {"runAsUser": 0}}
    assert 'violates PodSecurity "restricted' in create_output(as_root)


def test_settings_change_the_workload_and_touch_no_crd(deployed: PlatformStack) -> None:
    platform = deployed.platform
    before, crds_before = uids(platform, [STATEFUL_SET]), uids(platform, crds())
    # The claim templates of a StatefulSet are immutable. So Pulumi replaces the StatefulSet for a larger
    # volume.
    deployed.up(**IMAGE_ONLY, storage="5Gi", egressPorts="[8443]")
    claim = stateful_set(platform)["spec"]["volumeClaimTemplates"][0]["spec"]
    assert claim["resources"]["requests"]["storage"] == "5Gi"
    larger = uids(platform, [STATEFUL_SET])
    assert before.keys() == larger.keys()
    assert before != larger

    policy = live(platform, EGRESS_POLICY)
    assert policy is not None
    assert [port["port"] for port in policy["spec"]["egress"][0]["ports"]] == [8443]

    # Without an image, the stack deploys no watcher.
    deployed.up()
    assert live(platform, STATEFUL_SET) is None
    account = {"apiVersion": "v1", "kind": "ServiceAccount"}
    assert live(platform, {**account, "metadata": {"name": WATCHER, "namespace": SYSTEM_NAMESPACE}})
    assert uids(platform, crds()) == crds_before

"""A tenant in a cluster that has Gatekeeper, Istio and HNC: made whole, kept whole, and removed whole."""

from collections.abc import Iterator

import pytest

from cluster.client import ClusterError
from tenancy.base.kinds import INTEGRATION_KINDS, KIND_BY_KEY, OPTIONAL_KINDS, Kind
from tenancy.base.manifest import Manifest, ObjectKey, object_key
from tenancy.base.names import TENANT_LABEL
from tenancy.desired import DesiredState, desired_state
from tenancy.drift import drift, object_drift
from tenancy.plans import read_plans
from tenancy.platform.constraint_templates import constraint_templates, hnc_configuration
from tenancy.spec.tenant import tenant_from_manifest
from tests.conftest import CrdFiles
from tests.integrations.conftest import NewTenant
from tests.integrations.crds import install_crds, needed_crds
from tests.integrations.gatekeeper import Gatekeeper, constraint_kind
from tests.integrations.pods import IMAGE, POD, allow_pods, pod
from tests.platform import Platform, condition
from tests.waiting import eventually

POLICY_BINDING = Kind(
    "admissionregistration.k8s.io/v1",
    "ValidatingAdmissionPolicyBinding",
    "validatingadmissionpolicybindings",
    is_namespaced=False,
)
TWO = [{"name": "web"}, {"name": "data"}]


@pytest.fixture(scope="module", autouse=True)
def _integrations(gatekeeper: Gatekeeper, crd_files: CrdFiles) -> None:
    """All three, and what the platform says to them once for all tenants."""
    install_crds(gatekeeper.admin, [*needed_crds(crd_files("istio")), *crd_files("hnc")])
    gatekeeper.admin.apply(hnc_configuration())
    for template in constraint_templates():
        gatekeeper.add_template(template)


def desired(manifest: Manifest) -> DesiredState:
    return desired_state(tenant_from_manifest(manifest), read_plans())


def integrated(platform: Platform, tenant: str) -> dict[ObjectKey, Manifest]:
    """What the tenant has of other projects."""
    return {
        object_key(found): found
        for kind in OPTIONAL_KINDS
        for found in platform.admin.list(kind, f"{TENANT_LABEL}={tenant}")[0]
    }


def test_tenant_gets_every_object_pulumi_finds_nothing_to_change_and_all_goes_with_it(
    platform: Platform, new_tenant: NewTenant
) -> None:
    manifest = new_tenant(
        "whole", plan="pro", namespaces=TWO, registries=["a.test"], hostnames=["whole.test"]
    )
    tenant = platform.await_active(manifest)
    assert condition(tenant, "IntegrationsReady")["status"] == "True"
    live, wanted = integrated(platform, "whole"), desired(manifest)
    assert live.keys() == {key for key in wanted.by_key if KIND_BY_KEY[key.kind] in OPTIONAL_KINDS}
    assert {KIND_BY_KEY[key.kind] for key in live} == set(OPTIONAL_KINDS)
    assert not [key for key in drift(wanted, live) if key in live]

    told = platform.pulumi("tenant-whole", "preview", "--refresh", "--expect-no-changes")
    assert told.returncode == 0, told.stdout + told.stderr
    # One update, and no other since: nothing was taken for drift.
    assert [update["message"] for update in platform.history("whole")] == ["spec generation 1"]

    platform.delete(manifest)
    platform.await_gone(manifest)
    # Those that no namespace takes with it, too.
    assert integrated(platform, "whole") == {}


def test_deleted_and_edited_objects_are_put_back(platform: Platform, new_tenant: NewTenant) -> None:
    manifest, home = new_tenant("loose"), "tenant-loose"
    platform.await_active(manifest)
    policy = "AuthorizationPolicy.security.istio.io"
    platform.remove(policy, home, "tenant-isolation")
    repaired = platform.await_condition(manifest, "Repaired", "Drifted")
    assert f"{policy} {home}/tenant-isolation deleted" in repaired["message"]
    assert platform.get(policy, home, "tenant-isolation")

    edits = {
        ("TenantPodSecurity.constraints.gatekeeper.sh", "", home): {"enforcementAction": "dryrun"},
        ("PeerAuthentication.security.istio.io", home, "default"): {"mtls": {"mode": "PERMISSIVE"}},
        ("HierarchyConfiguration.hnc.x-k8s.io", home, "hierarchy"): {"parent": "kube-system"},
    }
    for key, change in edits.items():
        platform.patch(*key, {"spec": change})
    wanted = desired(manifest).by_key

    def are_back() -> bool:
        return not any(object_drift(wanted[ObjectKey(*key)], platform.get(*key)) for key in edits)

    eventually(are_back, "all are as they were")

    def is_told() -> bool:
        told = condition(platform.tenant(manifest) or {}, "Drifted")
        return told["reason"] == "Repaired" and told != repaired

    eventually(is_told, "the repair is told")


def test_what_is_switched_off_is_removed(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("less")
    platform.await_active(manifest)
    platform.apply({**manifest, "spec": {"istio": {"enabled": True}}})
    platform.await_active(manifest)
    left = {KIND_BY_KEY[key.kind] for key in integrated(platform, "less")}
    assert left == set(INTEGRATION_KINDS["Istio"][1:])


@pytest.fixture
def _no_pod_policy(platform: Platform) -> Iterator[None]:
    """Our own policy would refuse a foreign image first: Gatekeeper must not need it."""
    binding = platform.admin.get(POLICY_BINDING, "tenancy-pods")
    assert binding is not None
    platform.admin.delete(POLICY_BINDING, "tenancy-pods")
    yield
    platform.admin.create(POLICY_BINDING, {**binding, "metadata": {"name": "tenancy-pods"}})


@pytest.mark.usefixtures("_no_pod_policy")
def test_gatekeeper_keeps_foreign_images_and_privileged_pods_out(
    platform: Platform, new_tenant: NewTenant, gatekeeper: Gatekeeper
) -> None:
    home = "tenant-guarded"
    manifest = new_tenant("guarded", registries=["registry.example.test"])
    platform.await_active(manifest)
    for kind in ("TenantImageRegistries", "TenantPodSecurity"):
        gatekeeper.await_enforced(constraint_kind(kind), home)
    allow_pods(platform.admin, home)
    platform.admin.create(POD, pod(home))

    def refusal(wanted: Manifest) -> str:
        with pytest.raises(ClusterError) as refused:
            platform.admin.create(POD, wanted)
        return str(refused.value)

    foreign = pod(home, "evil.test/app")
    eventually(lambda: "ValidatingAdmissionPolicy" not in refusal(foreign), "our own policy is out of force")
    assert 'container "main-0" has image "evil.test/app"' in refusal(foreign)

    # Pod Security would refuse it as well: the constraint stands also while the namespace's labels are gone.
    platform.stop()
    loosened = dict.fromkeys(f"pod-security.kubernetes.io/{mode}" for mode in ("enforce", "warn"))
    platform.patch("Namespace", "", home, {"metadata": {"labels": loosened}})
    privileged = pod(home, privileged=True, allowPrivilegeEscalation=None)
    eventually(
        lambda: "violates PodSecurity" not in refusal(privileged), "the API server has seen the labels go"
    )
    assert f'"main-0" with image "{IMAGE}" is privileged' in refusal(privileged)
    platform.start()
    platform.await_condition(manifest, "Repaired", "Drifted")


def test_tenant_with_an_unknown_parent_says_so(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("orphan", hnc={"enabled": True, "parent": "nowhere"})
    failed = platform.await_condition(manifest, "InvalidSpec")
    assert failed["message"] == "spec.hnc.parent: 'nowhere' is not in spec.namespaces"
    assert platform.namespace("tenant-orphan") is None

"""In a cluster with Gatekeeper, Istio and HNC, the objects of a tenant are created, repaired and removed."""

from collections.abc import Iterator

import pytest

from cluster.errors import ClusterError
from tenancy.base.kinds import INTEGRATION_KINDS, KIND_BY_KEY, OPTIONAL_KINDS, Kind
from tenancy.base.labels import TENANT_LABEL
from tenancy.base.manifest import Manifest, ObjectKey, object_key
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
TWO_NAMESPACES = [{"name": "web"}, {"name": "data"}]


@pytest.fixture(scope="module", autouse=True)
def _integrations(gatekeeper: Gatekeeper, crd_files: CrdFiles) -> None:
    """Install the CRDs of all three integrations, and the platform's cluster-wide configuration for them."""
    install_crds(gatekeeper.admin, [*needed_crds(crd_files("istio")), *crd_files("hnc")])
    gatekeeper.admin.apply(hnc_configuration())
    for template in constraint_templates():
        gatekeeper.add_template(template)


def desired(manifest: Manifest) -> DesiredState:
    return desired_state(tenant_from_manifest(manifest), read_plans())


def integration_objects(platform: Platform, tenant: str) -> dict[ObjectKey, Manifest]:
    """The tenant's live objects whose kinds belong to other projects."""
    return {
        object_key(live): live
        for kind in OPTIONAL_KINDS
        for live in platform.admin.list(kind, f"{TENANT_LABEL}={tenant}")[0]
    }


def test_tenant_gets_every_object_pulumi_finds_nothing_to_change_and_all_goes_with_it(
    platform: Platform, new_tenant: NewTenant
) -> None:
    manifest = new_tenant(
        "whole", plan="pro", namespaces=TWO_NAMESPACES, registries=["a.test"], hostnames=["whole.test"]
    )
    tenant = platform.await_active(manifest)
    assert condition(tenant, "IntegrationsReady")["status"] == "True"
    live, state = integration_objects(platform, "whole"), desired(manifest)
    assert live.keys() == {key for key in state.by_key if KIND_BY_KEY[key.kind] in OPTIONAL_KINDS}
    assert {KIND_BY_KEY[key.kind] for key in live} == set(OPTIONAL_KINDS)
    assert not [key for key in drift(state.by_key, live) if key in live]

    completed = platform.pulumi("tenant-whole", "preview", "--refresh", "--expect-no-changes")
    assert completed.returncode == 0, completed.stdout + completed.stderr
    # There is only one update, so the watcher has detected no drift.
    assert [update["message"] for update in platform.history("whole")] == ["spec generation 1"]

    platform.delete(manifest)
    platform.await_gone(manifest)
    # The result would include cluster-scoped objects, which are not deleted with a namespace.
    assert integration_objects(platform, "whole") == {}


def test_deleted_and_edited_objects_are_put_back(platform: Platform, new_tenant: NewTenant) -> None:
    manifest, namespace = new_tenant("loose"), "tenant-loose"
    platform.await_active(manifest)
    policy = "AuthorizationPolicy.security.istio.io"
    platform.remove(policy, namespace, "tenant-isolation")
    repaired = platform.await_condition(manifest, "Repaired", "Drifted")
    assert f"{policy} {namespace}/tenant-isolation deleted" in repaired["message"]
    assert platform.get(policy, namespace, "tenant-isolation")

    edits = {
        ("TenantPodSecurity.constraints.gatekeeper.sh", "", namespace): {"enforcementAction": "dryrun"},
        ("PeerAuthentication.security.istio.io", namespace, "default"): {"mtls": {"mode": "PERMISSIVE"}},
        ("HierarchyConfiguration.hnc.x-k8s.io", namespace, "hierarchy"): {"parent": "kube-system"},
    }
    for key, change in edits.items():
        platform.patch(*key, {"spec": change})
    desired_by_key = desired(manifest).by_key

    def are_back() -> bool:
        return not any(object_drift(desired_by_key[ObjectKey(*key)], platform.get(*key)) for key in edits)

    eventually(are_back, "all objects are restored")

    def is_reported() -> bool:
        drifted = condition(platform.tenant(manifest) or {}, "Drifted")
        return drifted["reason"] == "Repaired" and drifted != repaired

    eventually(is_reported, "the status reports the repair")


def test_what_is_switched_off_is_removed(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("less")
    platform.await_active(manifest)
    platform.apply({**manifest, "spec": {"istio": {"enabled": True}}})
    platform.await_active(manifest)
    left = {KIND_BY_KEY[key.kind] for key in integration_objects(platform, "less")}
    assert left == set(INTEGRATION_KINDS["Istio"][1:])


@pytest.fixture
def _no_pod_policy(platform: Platform) -> Iterator[None]:
    """Disable the platform's policy for pods. It would reject the image before Gatekeeper does."""
    binding = platform.admin.get(POLICY_BINDING, "tenancy-pods")
    assert binding is not None
    platform.admin.delete(POLICY_BINDING, "tenancy-pods")
    yield
    platform.admin.create(POLICY_BINDING, {**binding, "metadata": {"name": "tenancy-pods"}})


@pytest.mark.usefixtures("_no_pod_policy")
def test_gatekeeper_keeps_foreign_images_and_privileged_pods_out(
    platform: Platform, new_tenant: NewTenant, gatekeeper: Gatekeeper
) -> None:
    namespace = "tenant-guarded"
    manifest = new_tenant("guarded", registries=["registry.example.test"])
    platform.await_active(manifest)
    for kind in ("TenantImageRegistries", "TenantPodSecurity"):
        gatekeeper.await_enforced(constraint_kind(kind), namespace)
    allow_pods(platform.admin, namespace)
    platform.admin.create(POD, pod(namespace))

    def refusal(manifest: Manifest) -> str:
        with pytest.raises(ClusterError) as denial:
            platform.admin.create(POD, manifest)
        return str(denial.value)

    foreign = pod(namespace, "evil.test/app")
    eventually(
        lambda: "ValidatingAdmissionPolicy" not in refusal(foreign),
        "the platform's policy is no longer enforced",
    )
    assert 'container "main-0" has image "evil.test/app"' in refusal(foreign)

    # Pod Security would also reject the pod. Remove its labels, so that only the constraint can reject the
    # pod.
    platform.stop()
    no_labels = dict.fromkeys(f"pod-security.kubernetes.io/{mode}" for mode in ("enforce", "warn"))
    platform.patch("Namespace", "", namespace, {"metadata": {"labels": no_labels}})
    privileged = pod(namespace, privileged=True, allowPrivilegeEscalation=None)
    eventually(
        lambda: "violates PodSecurity" not in refusal(privileged),
        "the API server has seen that the labels are gone",
    )
    assert f'"main-0" with image "{IMAGE}" is privileged' in refusal(privileged)
    platform.start()
    platform.await_condition(manifest, "Repaired", "Drifted")


def test_tenant_with_an_unknown_parent_says_so(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("orphan", hnc={"enabled": True, "parent": "nowhere"})
    failed = platform.await_condition(manifest, "InvalidSpec")
    assert failed["message"] == "spec.hnc.parent: there is no namespace 'nowhere' in spec.namespaces"
    assert platform.namespace("tenant-orphan") is None

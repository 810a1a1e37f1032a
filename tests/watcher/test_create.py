"""The watcher creates the namespaces and the other objects of a new Tenant, and writes its status."""

import subprocess
from pathlib import Path

import pytest

from embedded.controlplane.plane import ControlPlane
from tenancy.base.kinds import kind_of
from tests.platform import NewTenant, Platform, condition

ROLES = ("tenant-admin", "tenant-operator", "tenant-viewer")
QUOTAS = ("tenant-quota", "tenant-quota-objects", "tenant-quota-storage", "tenant-object-counts")
POLICIES = (
    "default-deny-all",
    "allow-intra-tenant",
    "tenant-isolation",
    "allow-dns",
    "allow-platform-shared",
    "allow-ingress-controller",
    "allow-monitoring",
)


def expected_objects(*namespaces: str) -> set[tuple[str, str, str]]:
    expected = {("Namespace", "", name) for name in namespaces}
    for name in namespaces:
        expected |= {(kind, name, role) for kind in ("Role", "RoleBinding") for role in ROLES}
        expected |= {("ResourceQuota", name, quota) for quota in QUOTAS}
        expected |= {("NetworkPolicy", name, policy) for policy in POLICIES}
        expected.add(("LimitRange", name, "tenant-limits"))
    return expected


def test_simplest_tenant_becomes_active_with_every_object(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("simple", "kleff.kleff.io", plan="basic", userId="u-1", username="joe@corp.example")
    tenant = platform.await_active(manifest)

    objects = platform.objects("simple")
    assert objects.keys() == expected_objects("tenant-simple")
    assert all(
        item["metadata"]["labels"]["tenant.platform.ai/managed"] == "true" for item in objects.values()
    )
    namespace = objects["Namespace", "", "tenant-simple"]["metadata"]
    assert (
        namespace["labels"].items()
        >= {
            "tenant.platform.ai/name": "simple",
            "tenant.platform.ai/managed": "true",
            "kleff.io/tenant-plan": "basic",
            "kleff.io/tenant-user-id": "u-1",
            "istio-injection": "disabled",
            "pod-security.kubernetes.io/enforce": "restricted",
            "pod-security.kubernetes.io/audit": "restricted",
            "pod-security.kubernetes.io/warn": "restricted",
        }.items()
    )
    # An email address is not a valid label value. The label contains a readable and unique form of the
    # address.
    assert namespace["labels"]["kleff.io/tenant-username"].startswith("joe-corp-example.")
    assert namespace["annotations"]["kleff.io/tenant-username"] == "joe@corp.example"
    quota = objects["ResourceQuota", "tenant-simple", "tenant-quota"]["spec"]["hard"]
    assert quota.items() >= {"cpu": "500m", "memory": "1Gi", "pods": "20"}.items()

    status = tenant["status"]
    assert tenant["metadata"]["finalizers"] == ["kleff.io/namespace-finalizer"]
    assert "ownerReferences" not in namespace
    assert (status["phase"], status["observedGeneration"]) == ("Active", 1)
    assert (status["stack"], status["namespaceCount"]) == ("tenant-simple", 1)
    assert status["lastUpdate"]["version"] == 1
    assert status["lastUpdate"]["resourceChanges"]["create"] == len(objects) + 2  # stack and component
    assert status["namespaceStatus"]["tenant-simple"]["ready"] is True
    assert [condition(tenant, kind)["status"] for kind in ("NamespaceReady", "TenantReady", "Ready")] == [
        "True"
    ] * 3
    assert condition(tenant, "Drifted")["status"] == "False"
    # The Event counts only Kubernetes objects. Pulumi's count includes its own resources.
    created = f"spec generation 1: {len(objects)} create in "
    assert any(
        reason == "Applied" and message.startswith(created) for reason, message in platform.events("simple")
    )


def test_three_namespaces_of_different_purpose_each_get_all_objects(
    platform: Platform, new_tenant: NewTenant
) -> None:
    purposes = {"dev": "development", "stage": "staging", "prod": "production"}
    manifest = new_tenant(
        "team",
        plan="pro",
        adminUsers=["alice"],
        rbacConfig={"groups": ["admins"], "serviceAccounts": ["deployer", "ci/runner"]},
        access=[
            {"kind": "Group", "name": "oncall", "role": "operator", "namespaces": ["prod"]},
            {"kind": "User", "name": "auditor", "role": "viewer"},
        ],
        namespaces=[{"name": name, "purpose": purpose} for name, purpose in purposes.items()],
        resourceQuotas={"cpu": 6, "storage": "1024Gi"},
    )
    platform.await_active(manifest)

    objects = platform.objects("team")
    assert objects.keys() == expected_objects(*(f"tenant-team-{name}" for name in purposes))
    for name, purpose in purposes.items():
        labels = objects["Namespace", "", f"tenant-team-{name}"]["metadata"]["labels"]
        assert labels["tenant.platform.ai/purpose"] == purpose
        hard = objects["ResourceQuota", f"tenant-team-{name}", "tenant-quota"]["spec"]["hard"]
        assert (hard["cpu"], hard["limits.cpu"], hard["memory"]) == ("6", "6", "8Gi")
        storage = objects["ResourceQuota", f"tenant-team-{name}", "tenant-quota-storage"]["spec"]["hard"]
        assert storage == {"requests.storage": "1Ti"}
        admins = objects["RoleBinding", f"tenant-team-{name}", "tenant-admin"]["subjects"]
        assert [(subject["kind"], subject.get("namespace"), subject["name"]) for subject in admins] == [
            ("Group", None, "admins"),
            ("ServiceAccount", "ci", "runner"),
            ("ServiceAccount", f"tenant-team-{name}", "deployer"),
            ("User", None, "alice"),
        ]
        operators = objects["RoleBinding", f"tenant-team-{name}", "tenant-operator"].get("subjects", [])
        assert [subject["name"] for subject in operators] == (["oncall"] if name == "prod" else [])


def test_newer_tenant_of_the_same_name_in_the_other_group_is_rejected(
    platform: Platform, new_tenant: NewTenant
) -> None:
    older = new_tenant("twin", plan="basic")
    platform.await_active(older)
    newer = new_tenant("twin", "kleff.kleff.io", plan="pro")

    ready = platform.await_condition(newer, "NameTaken")
    assert ready["status"] == "False"
    assert "the older Tenant tenants.platform.ai/twin already has this name" in ready["message"]
    labels = platform.objects("twin")["Namespace", "", "tenant-twin"]["metadata"]["labels"]
    assert labels["kleff.io/tenant-plan"] == "basic"

    # The deletion of the newer Tenant does not delete the objects of the older Tenant, even if the newer has
    # a finalizer.
    finalizer = {"metadata": {"finalizers": ["kleff.io/namespace-finalizer"]}}
    platform.admin.patch(kind_of(newer), "twin", finalizer)
    platform.delete(newer)
    platform.await_gone(newer)
    assert platform.namespace("tenant-twin") is not None

    platform.apply(newer)
    platform.await_condition(newer, "NameTaken")
    platform.delete(older)
    platform.await_gone(older)
    platform.await_active(newer)


@pytest.mark.parametrize("group", ["platform.ai", "kleff.kleff.io"])
def test_kubectl_prints_plan_phase_and_namespaces(
    group: str, platform: Platform, new_tenant: NewTenant, tools: dict[str, Path], control_plane: ControlPlane
) -> None:
    name = f"printed-{group.split('.')[0]}"
    manifest = new_tenant(name, group, plan="pro")
    platform.await_active(manifest)
    lines = subprocess.run(
        [tools["kubectl"], "--kubeconfig", control_plane.kubeconfig, "get", f"tenants.{group}", name],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert lines[0].split() == ["NAME", "PLAN", "PHASE", "NAMESPACES", "AGE"]
    assert lines[1].split()[:4] == [name, "pro", "Active", "1"]

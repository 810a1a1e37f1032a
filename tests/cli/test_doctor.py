"""`tenancy doctor` on a separate cluster.

Each test causes a problem, checks the finding, and runs the printed fix. The doctor reports on the whole
cluster. So each test checks only the findings about its own objects.
"""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cli.doctor.installation import version_finding
from cli.doctor.watcher_and_tenants import tenant_findings, unobserved_tenants
from embedded.controlplane.plane import ControlPlane
from embedded.toolchain.resolver import path_with
from tenancy.base.kinds import CONFIG_MAP, CRD, DEPLOYMENT, STATEFUL_SET, Kind
from tenancy.base.manifest import Manifest
from tenancy.platform.settings import PlatformSettings
from tenancy.platform.watcher_workload import watcher_workload
from tenancy.spec.crd import crds
from tests.cli.conftest import Completed
from tests.commandline import run_tenancy
from tests.platform import ROOT, NewTenant, Platform, tenant_manifest
from tests.waiting import eventually

CLUSTER_ROLE = Kind("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", False)
BINDING = Kind(
    "admissionregistration.k8s.io/v1",
    "ValidatingAdmissionPolicyBinding",
    "validatingadmissionpolicybindings",
    False,
)
LONG_AGO = "2020-01-01T00:00:00Z"

Findings = Callable[..., list[Manifest]]


@pytest.fixture(scope="module")
def platform(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform that was installed by its Pulumi stack. So `pulumi up` can repair the platform."""
    folder = tmp_path_factory.mktemp("doctor")
    with ControlPlane(tools, folder / "plane", is_throw_away=True) as plane:
        platform = Platform.not_installed(plane.kubeconfig, path_with(tools), folder)
        for arguments in (("stack", "init"), ("up", "--yes", "--skip-preview")):
            result = platform.pulumi("platform", *arguments)
            assert result.returncode == 0, result.stdout + result.stderr
        platform.write_watcher_kubeconfig()
        platform.start()
        yield platform
        platform.stop()


@pytest.fixture(scope="module", autouse=True)
def after_installation(platform: Platform) -> tuple[Completed, Completed]:
    """The doctor's output as a table and as JSON, before a test has caused a problem."""
    platform.await_active(platform.apply(tenant_manifest("healthy")))
    return run_doctor(platform), run_doctor(platform, "-o", "json")


@pytest.fixture
def findings_of(platform: Platform) -> Findings:
    """A function that runs the doctor, and returns the findings of one level about the given objects."""

    def run(level: str, *subjects: str, **environment: str) -> list[Manifest]:
        result = run_doctor(platform, "-o", "json", **environment)
        findings: list[Manifest] = json.loads(result.stdout)
        assert result.returncode == (1 if any(entry["level"] == "FAILED" for entry in findings) else 0)
        return [entry for entry in findings if entry["level"] == level and entry["subject"] in subjects]

    return run


def run_doctor(platform: Platform, *arguments: str, **environment: str) -> Completed:
    base_environment = {**platform.environment, "KUBECONFIG": str(platform.admin_kubeconfig)}
    return run_tenancy("doctor", *arguments, environment={**base_environment, **environment})


def run_fix(platform: Platform, fix: str, tmp_path: Path) -> None:
    """Run the printed fix in a shell, like a user who pastes it there."""
    command = tmp_path / "tenancy"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m cli.main "$@"\n')
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    path = os.pathsep.join((str(tmp_path), platform.environment["PATH"]))
    environment = {**platform.environment, "PATH": path, "KUBECONFIG": str(platform.admin_kubeconfig)}
    subprocess.run(["bash", "-euo", "pipefail", "-c", fix], cwd=ROOT, env=environment, check=True)


def test_all_is_well_after_an_installation(after_installation: tuple[Completed, Completed]) -> None:
    table, data = after_installation
    assert (table.returncode, data.returncode) == (0, 0)
    assert {finding["level"] for finding in json.loads(data.stdout)} == {"ok"}
    lines = table.stdout.splitlines()
    assert len(lines) == len(json.loads(data.stdout))
    assert all(line.startswith("ok ") for line in lines)
    text = "\n".join(lines)
    for subject in ("API server", "CRD tenants.platform.ai", "watcher", "plans", "pulumi provider", "locks"):
        assert f"{subject}: " in text


def test_changed_or_missing_crd_is_found_and_mended_by_the_fix(
    platform: Platform, findings_of: Findings, tmp_path: Path
) -> None:
    crd = platform.admin.get(CRD, "tenants.platform.ai")
    assert crd is not None
    where = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/cordoned"
    platform.admin.patch(CRD, "tenants.platform.ai", [{"op": "remove", "path": where}])
    platform.admin.delete(CRD, "aisessions.platform.ai")
    eventually(lambda: platform.admin.get(CRD, "aisessions.platform.ai") is None, "the CRD is gone")
    subjects = [f"CRD {crd['metadata']['name']}" for crd in crds()]
    old, absent = findings_of("FAILED", *subjects)
    assert old["subject"] == "CRD tenants.platform.ai"
    assert "is from another version of tenancy" in old["message"]
    assert (absent["subject"], absent["message"]) == ("CRD aisessions.platform.ai", "is not installed")
    run_fix(platform, old["fix"], tmp_path)
    eventually(lambda: len(findings_of("ok", *subjects)) == len(subjects), "every CRD is established again")


def test_changed_rights_and_policies_are_found_and_mended_by_the_fix(
    platform: Platform, findings_of: Findings, tmp_path: Path
) -> None:
    role = platform.admin.get(CLUSTER_ROLE, "tenancy-watcher")
    assert role is not None
    platform.admin.patch(CLUSTER_ROLE, "tenancy-watcher", {"rules": [*role["rules"], role["rules"][0]]})
    binding = next(
        manifest["metadata"]["name"]
        for manifest in platform.admin.list(BINDING)[0]
        if not manifest["metadata"]["name"].startswith("tenancy-keep")
    )
    platform.admin.patch(BINDING, binding, {"spec": {"validationActions": ["Audit"]}})
    subjects = ("watcher's rights", "admission")
    rights, admission = findings_of("FAILED", *subjects)
    assert rights["message"] == "ClusterRole tenancy-watcher: rules differs from the manifest of this version"
    assert f"{binding}: spec.validationActions[0] differs" in admission["message"]
    for finding in (rights, admission):
        deletion, _, update = finding["fix"].partition(" && ")
        assert update == "pulumi up --refresh --stack platform"
        run_fix(platform, deletion, tmp_path)
    absent = [entry["message"] for entry in findings_of("FAILED", *subjects)]
    assert absent[0] == "ClusterRole tenancy-watcher does not exist"
    assert absent[1].endswith(f"{binding} does not exist")
    done = platform.pulumi("platform", "up", "--refresh", "--yes", "--skip-preview")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [entry["subject"] for entry in findings_of("ok", *subjects)] == list(subjects)


def test_broken_plans_are_found(platform: Platform, findings_of: Findings) -> None:
    metadata = {"name": "tenancy-plans", "namespace": "tenancy-system"}
    text = "plans: {pro: {maxNamespaces: none}}"
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"plans.yaml": text}}
    platform.apply(manifest)
    try:
        (finding,) = findings_of("FAILED", "plans")
    finally:
        platform.admin.delete(CONFIG_MAP, "tenancy-plans", "tenancy-system")
    assert "plans.pro.maxNamespaces" in finding["message"]
    assert finding["fix"] == "kubectl -n tenancy-system edit configmap tenancy-plans"


@pytest.mark.parametrize(
    ("backend", "kind", "usage"),
    [("file:///state", STATEFUL_SET, []), ("s3://bucket", DEPLOYMENT, ["usage"])],
)
def test_watcher_that_is_not_ready_is_found(
    backend: str, kind: Kind, usage: list[str], platform: Platform, findings_of: Findings
) -> None:
    """Without a volume, the usage records are not kept."""
    workload = watcher_workload(PlatformSettings(image="nowhere.example/none:1", backend=backend))[-1]
    platform.apply(workload)
    try:
        (finding,) = findings_of("FAILED", "watcher")
        assert [entry["subject"] for entry in findings_of("warning", "usage")] == usage
    finally:
        platform.admin.delete(kind, "tenancy-watcher", "tenancy-system")
    assert finding["message"] == f"{kind.kind} tenancy-system/tenancy-watcher is not ready"
    assert finding["fix"] == "kubectl -n tenancy-system logs svc/tenancy-watcher"


def test_tenants_in_trouble_are_named_with_their_reason(
    platform: Platform, new_tenant: NewTenant, findings_of: Findings
) -> None:
    paused, meshed = new_tenant("resting"), new_tenant("meshed", istio={"enabled": True})
    platform.await_condition(new_tenant("hopeless", plan="none-such"), "UnknownPlan")
    platform.await_active(paused)
    platform.apply({**paused, "spec": {"paused": True}})
    platform.await_condition(paused, "Paused")
    platform.remove("Role", "tenant-resting", "tenant-viewer")
    platform.await_condition(paused, "Paused", "Drifted")
    platform.await_active(meshed)
    subjects = [f"tenant {name}" for name in ("hopeless", "resting", "meshed")]
    (failure,) = findings_of("FAILED", *subjects)
    assert failure["subject"] == "tenant hopeless"
    assert failure["message"].startswith("UnknownPlan: spec.plan: there is no plan")
    assert failure["fix"] == "tenancy show hopeless"
    warnings = [(entry["subject"], entry["fix"]) for entry in findings_of("warning", *subjects)]
    assert warnings == [
        ("tenant resting", "tenancy resume resting"),
        ("tenant resting", "tenancy diff resting"),
        ("tenant meshed", "kubectl get crds"),
    ]


def test_rights_that_the_caller_lacks_are_named(platform: Platform, findings_of: Findings) -> None:
    warnings = findings_of("warning", "your rights", KUBECONFIG=str(platform.folder / "watcher.kubeconfig"))
    assert "create tenants.platform.ai" in warnings[0]["message"]
    create, bind = warnings[0]["fix"].split(" && ")
    resources = "tenants.platform.ai,tenants.kleff.kleff.io"
    assert create == f"kubectl create clusterrole tenants-writer --verb=create --resource={resources}"
    assert bind.endswith("--clusterrole=tenants-writer --serviceaccount=tenancy-system:tenancy-watcher")


def test_no_cluster_is_found_and_the_rest_is_looked_at(platform: Platform) -> None:
    result = run_doctor(platform, KUBECONFIG="/nowhere")
    assert result.returncode == 1
    first, fix, *others = result.stdout.splitlines()
    assert first.startswith("FAILED  API server: no usable kubeconfig")
    assert fix.split() == ["fix:", "kubectl", "cluster-info"]
    assert [line.split(":")[0] for line in others] == [
        "ok      pulumi",
        "ok      pulumi provider",
        "ok      warm engine",
    ]


def test_an_old_server_is_refused() -> None:
    old = version_finding({"major": "1", "minor": "29+", "gitVersion": "v1.29.4"})
    assert (old.level, "need 1.30 or newer" in old.message) == ("FAILED", True)
    assert version_finding({"major": "1", "minor": "30", "gitVersion": "v1.30.0"}).level == "ok"


def test_a_spec_that_nobody_looks_at_and_an_end_that_does_not_come_are_told() -> None:
    ignored, leaving = tenant_manifest("ignored"), tenant_manifest("leaving", paused=True)
    ignored["metadata"] |= {"generation": 2, "creationTimestamp": LONG_AGO}
    assert unobserved_tenants([ignored]) == ["ignored"]
    assert unobserved_tenants([{**ignored, "status": {"observedGeneration": 2}}]) == []
    leaving["metadata"] |= {"deletionTimestamp": LONG_AGO}
    (finding,) = tenant_findings(leaving)
    assert finding.message.startswith("is stuck in Terminating")
    assert finding.fix == "tenancy resume leaving"

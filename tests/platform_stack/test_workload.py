"""The watcher's pod, as the API server takes it, and what becomes of it when settings change."""

import pytest

from tenancy.crd import crds
from tenancy.kinds import CONFIG_MAP, NAMESPACE, kind_of
from tenancy.manifest import Manifest
from tenancy.platform.settings import PlatformSettings
from tenancy.platform.workload import watcher_workload
from tenancy.system import PLANS_CONFIG_MAP, SHARED_NAMESPACE, SYSTEM_NAMESPACE, WATCHER
from tests.platform import ROOT, Platform
from tests.platform_stack.conftest import IMAGE, Kubectl, live, uids, up

_, STATEFUL_SET = watcher_workload(PlatformSettings(image=IMAGE))


@pytest.fixture(scope="module")
def deployed(empty: Platform) -> Platform:
    up(empty)
    return empty


def stateful_set(platform: Platform) -> Manifest:
    found = live(platform, STATEFUL_SET)
    assert found is not None
    return found


def test_pod_is_accepted_under_restricted_pod_security(deployed: Platform, kubectl: Kubectl) -> None:
    template = stateful_set(deployed)["spec"]["template"]
    # The claim's volume is the controller's to add.
    volumes = [*template["spec"]["volumes"], {"name": "state", "emptyDir": {}}]
    pod = {**template["spec"], "volumes": volumes}

    def created(spec: Manifest) -> str:
        metadata = {**template["metadata"], "name": "probe", "namespace": SYSTEM_NAMESPACE}
        manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        told = kubectl("create", "--dry-run=server", "-f", "-", stdin=manifest)
        return told.stdout + told.stderr

    assert "pod/probe created" in created(pod)
    as_root = {**pod, "securityContext": {"runAsUser": 0}}
    assert 'violates PodSecurity "restricted' in created(as_root)


def test_larger_volume_replaces_the_stateful_set_and_touches_no_crd(deployed: Platform) -> None:
    before, crds_before = uids(deployed, [STATEFUL_SET]), uids(deployed, crds())
    up(deployed, storage="5Gi")
    after = stateful_set(deployed)
    claim = after["spec"]["volumeClaimTemplates"][0]["spec"]
    assert claim["resources"]["requests"]["storage"] == "5Gi"
    assert uids(deployed, [STATEFUL_SET]) != before
    assert uids(deployed, crds()) == crds_before


def test_backend_elsewhere_needs_no_volume(deployed: Platform) -> None:
    up(deployed, backend="s3://states", workers="2")
    spec = stateful_set(deployed)["spec"]
    assert "volumeClaimTemplates" not in spec
    [container] = spec["template"]["spec"]["containers"]
    assert {"name": "PULUMI_BACKEND_URL", "value": "s3://states"} in container["env"]
    assert [mount["name"] for mount in container["volumeMounts"]] == ["tmp", "run"]
    assert container["resources"]["limits"] == {"cpu": "2", "memory": "2Gi"}


def test_plans_file_is_checked_and_becomes_the_config_map(deployed: Platform) -> None:
    found = deployed.admin.get(CONFIG_MAP, PLANS_CONFIG_MAP, SYSTEM_NAMESPACE)
    assert found is not None
    assert found["data"]["plans.yaml"] == (ROOT / "tenancy" / "plans.yaml").read_text(encoding="utf-8")
    broken = deployed.folder / "broken.yaml"
    broken.write_text("plans: {small: {maxNamespaces: 0}}")
    told = deployed.pulumi("platform", "preview", f"--config=plans={broken}")
    assert told.returncode != 0
    assert "plans file plans.small.maxNamespaces" in told.stdout


def test_bad_setting_is_refused_by_its_name(deployed: Platform) -> None:
    told = deployed.pulumi("platform", "preview", "--config=backend=postgres://me:secret@db/states")
    assert told.returncode != 0
    assert "pulumi config.backend: holds a password" in told.stdout


def test_shared_namespace_lets_managed_tenants_in_and_nothing_else(deployed: Platform) -> None:
    shared = deployed.admin.get(NAMESPACE, SHARED_NAMESPACE)
    assert shared is not None
    assert shared["metadata"]["labels"]["platform.ai/shared"] == "true"
    kind = kind_of({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy"})
    found = {
        policy["metadata"]["name"]: policy["spec"]
        for policy in deployed.admin.list(kind)[0]
        if policy["metadata"]["namespace"] == SHARED_NAMESPACE
    }
    managed = {"namespaceSelector": {"matchLabels": {"tenant.platform.ai/managed": "true"}}}
    assert {name: spec.get("ingress") for name, spec in found.items()} == {
        "default-deny-all": None,
        "allow-tenants": [{"from": [managed]}],
        "allow-dns": None,
    }
    assert [name for name, spec in found.items() if spec.get("egress")] == ["allow-dns"]
    assert all(spec["policyTypes"] == ["Ingress", "Egress"] for spec in found.values())


def test_watcher_run_elsewhere_needs_no_pod(deployed: Platform) -> None:
    told = deployed.pulumi("platform", "up", "--yes", "--skip-preview")
    assert told.returncode == 0, told.stdout + told.stderr
    assert live(deployed, STATEFUL_SET) is None
    account = {"apiVersion": "v1", "kind": "ServiceAccount"}
    assert live(deployed, {**account, "metadata": {"name": WATCHER, "namespace": SYSTEM_NAMESPACE}})

"""A real Gatekeeper accepts and rejects pods by the constraints of tenants."""

from collections.abc import Iterator
from typing import Any

import pytest

from cluster.client import Cluster
from cluster.errors import ClusterError
from tenancy.base.kinds import NAMESPACE
from tenancy.base.manifest import Manifest
from tenancy.objects.gatekeeper import gatekeeper_objects
from tenancy.platform.constraint_templates import constraint_templates
from tenancy.spec.integration_settings import Gatekeeper as GatekeeperSettings
from tenancy.spec.settings import PodSecurity, TenantSettings
from tenancy.spec.tenant import TenantModel, TenantSpec
from tests.integrations.gatekeeper import Gatekeeper
from tests.integrations.pods import IMAGE, POD, allow_pods, pod

REGISTRIES = (
    "registry.example.test",
    "mirror.example.test:5000",
    "docker.io/library",
    "docker.io/acme",
    "ghcr.io/acme/app",
)
# The constraints match namespaces by name. The first two names are names of tenants' namespaces.
RESTRICTED, BASELINE, OTHER = "tenant-restricted", "tenant-baseline", "not-a-tenants"


@pytest.fixture(scope="module")
def admin(gatekeeper: Gatekeeper) -> Iterator[Cluster]:
    """A cluster that enforces the constraints of two tenants. The cluster does not enforce Pod Security."""
    admin = gatekeeper.admin
    for namespace in (RESTRICTED, BASELINE, OTHER):
        admin.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        allow_pods(admin, namespace)
    # This pod is older than the constraints.
    admin.create(
        POD, with_name(pod(RESTRICTED, "evil.test/app", privileged=True, allowPrivilegeEscalation=None))
    )
    for template in constraint_templates():
        gatekeeper.add_template(template)
    for level in (PodSecurity.RESTRICTED, PodSecurity.BASELINE):
        settings = TenantSettings(
            gatekeeper=GatekeeperSettings(enabled=True), registries=REGISTRIES, pod_security=level
        )
        for constraint in gatekeeper_objects(TenantModel(name=level.value, spec=TenantSpec()), settings):
            gatekeeper.add_constraint(constraint)
    yield admin
    for namespace in (RESTRICTED, BASELINE, OTHER):
        admin.delete(NAMESPACE, namespace)


def with_name(manifest: Manifest) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], "name": "older"}}


def with_spec(manifest: Manifest, **fields: Any) -> Manifest:
    return {**manifest, "spec": {**manifest["spec"], **fields}}


def refusal(admin: Cluster, manifest: Manifest) -> str:
    with pytest.raises(ClusterError) as denial:
        admin.create(POD, manifest)
    assert denial.value.status == 403
    assert "validation.gatekeeper.sh" in str(denial.value)
    return str(denial.value)


@pytest.mark.parametrize(
    "image",
    [
        "registry.example.test/app",
        "registry.example.test/a/b/c:1.0",
        "registry.example.test/app:1.0@sha256:" + "0" * 64,
        "mirror.example.test:5000/app",
        "nginx",
        "nginx:1.29",
        "library/nginx",
        "docker.io/nginx",
        "index.docker.io/library/nginx:1",
        "acme/app@sha256:" + "0" * 64,
        "ghcr.io/acme/app:5000",
        "ghcr.io/acme/app/tools",
    ],
)
def test_image_of_a_trusted_registry_is_let_in(admin: Cluster, image: str) -> None:
    admin.create(POD, pod(RESTRICTED, image))


@pytest.mark.parametrize(
    "image",
    [
        "evil.test/app",
        "registry.example.test.evil.test/app",
        "registry.example.test:5000/app",
        "mirror.example.test/app",
        "mirror.example.test:50000/app",
        "user/app",
        "acmeandmore/app",
        "localhost/acme/app",
        "ghcr.io/acme/application",
        "ghcr.io/acme/app-extra:1",
        "ghcr.io/acme",
        "evil.test/registry.example.test/app",
    ],
)
def test_image_from_elsewhere_is_refused_by_container_and_name(admin: Cluster, image: str) -> None:
    message = refusal(admin, pod(RESTRICTED, IMAGE, image))
    assert f'container "main-1" has image "{image}"' in message
    assert "main-0" not in message


def test_images_of_init_containers_and_volumes_count_too(admin: Cluster) -> None:
    good = pod(RESTRICTED)
    init = [{**good["spec"]["containers"][0], "name": "first", "image": "evil.test/init"}]
    assert 'container "first" has image "evil.test/init"' in refusal(
        admin, with_spec(good, initContainers=init)
    )
    volumes = [{"name": "files", "image": {"reference": "evil.test/files"}}]
    assert 'volume "files" has image "evil.test/files"' in refusal(admin, with_spec(good, volumes=volumes))


@pytest.mark.parametrize(
    ("security", "fault"),
    [
        ({"privileged": True, "allowPrivilegeEscalation": None}, "is privileged"),
        ({"allowPrivilegeEscalation": None}, "may gain privileges"),
        ({"allowPrivilegeEscalation": True}, "may gain privileges"),
        ({"runAsNonRoot": None}, "may run as root"),
        ({"runAsNonRoot": False}, "may run as root"),
        ({"runAsUser": 0}, "runs as root"),
        ({"capabilities": None}, "does not drop all capabilities"),
        ({"capabilities": {"drop": ["KILL"]}}, "does not drop all capabilities"),
        ({"capabilities": {"drop": ["ALL"], "add": ["CHOWN"]}}, "adds the capabilities"),
        ({"seccompProfile": None}, "has no seccomp profile"),
        ({"seccompProfile": {"type": "Unconfined"}}, "has no seccomp profile"),
    ],
)
def test_restricted_level_refuses(admin: Cluster, security: dict[str, Any], fault: str) -> None:
    message = refusal(admin, pod(RESTRICTED, **security))
    assert f'container "main-0" with image "{IMAGE}" {fault}' in message
    assert message.count("Pod Security level restricted: ") == 1 + ("privileged" in security)


def test_restricted_level_takes_what_the_pod_says_for_its_containers(admin: Cluster) -> None:
    bare = pod(RESTRICTED, runAsNonRoot=None, seccompProfile=None)
    shared = {
        "runAsNonRoot": True,
        "runAsUser": 1000,
        "seccompProfile": {"type": "Localhost", "localhostProfile": "a"},
    }
    admin.create(POD, with_spec(bare, securityContext=shared))
    added = pod(RESTRICTED, capabilities={"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]})
    admin.create(POD, added)
    assert "may run as root" in refusal(
        admin, with_spec(pod(RESTRICTED, runAsNonRoot=False), securityContext=shared)
    )


def test_baseline_level_takes_an_ordinary_pod_and_no_dangerous_one(admin: Cluster) -> None:
    plain = pod(
        BASELINE,
        allowPrivilegeEscalation=None,
        runAsNonRoot=None,
        seccompProfile=None,
        capabilities={"add": ["CHOWN"]},
    )
    admin.create(POD, plain)
    privileged = {"privileged": True, "allowPrivilegeEscalation": None}
    assert "is privileged" in refusal(admin, pod(BASELINE, **privileged))
    assert "SYS_ADMIN" in refusal(admin, pod(BASELINE, capabilities={"add": ["SYS_ADMIN", "CHOWN"]}))
    assert "seccomp" in refusal(admin, pod(BASELINE, seccompProfile={"type": "Unconfined"}))


@pytest.mark.parametrize("namespace", [BASELINE, RESTRICTED])
@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"hostNetwork": True}, "pod has hostNetwork"),
        ({"hostPID": True}, "pod has hostPID"),
        ({"hostIPC": True}, "pod has hostIPC"),
        (
            {"volumes": [{"name": "node", "hostPath": {"path": "/"}}]},
            'pod mounts hostPath volume "node"',
        ),
    ],
)
def test_no_level_lets_a_pod_reach_its_node(
    admin: Cluster, namespace: str, fields: dict[str, Any], fault: str
) -> None:
    assert fault in refusal(admin, with_spec(pod(namespace), **fields))


def test_pod_that_is_older_than_its_constraint_can_change_but_not_take_in_more(admin: Cluster) -> None:
    admin.patch(POD, "older", {"metadata": {"labels": {"seen": "true"}}}, namespace=RESTRICTED)
    image = [{"op": "replace", "path": "/spec/containers/0/image", "value": "evil.test/other"}]
    with pytest.raises(ClusterError, match=r"evil\.test/other"):
        admin.patch(POD, "older", image, namespace=RESTRICTED)
    debugger = {"name": "debugger", "image": "evil.test/debug", "securityContext": {"privileged": True}}
    path = "/spec/ephemeralContainers"
    with pytest.raises(ClusterError, match='container "debugger"') as denial:
        admin.patch(
            POD,
            "older",
            [{"op": "add", "path": path, "value": [debugger]}],
            namespace=RESTRICTED,
            subresource="ephemeralcontainers",
        )
    assert "is privileged" in str(denial.value)
    admin.delete(POD, "older", RESTRICTED)


def test_pods_in_other_namespaces_are_not_checked(admin: Cluster) -> None:
    admin.create(POD, pod(OTHER, "evil.test/app", privileged=True, allowPrivilegeEscalation=None))

"""With all policies in force, the watcher and Kubernetes can create, update, repair and delete a tenant."""

from tenancy.base.kinds import ROLE, SERVICE
from tests.admission.conftest import People
from tests.admission.people import DEPLOYMENT, create, pod_spec
from tests.platform import NewTenant, Platform
from tests.waiting import eventually

NAMESPACE = "tenant-lives"


def test_tenant_lives_from_create_to_delete(
    platform: Platform, people: People, new_tenant: NewTenant
) -> None:
    manifest = new_tenant("lives", adminUsers=["ann"])
    platform.await_active(manifest)
    template = {"metadata": {"labels": {"app": "a"}}, "spec": pod_spec()}
    spec = {"selector": {"matchLabels": {"app": "a"}}, "template": template}
    people("ann").do(create(DEPLOYMENT, "web", NAMESPACE, spec=spec))
    people("ann").do(create(SERVICE, "web", NAMESPACE, spec={"ports": [{"port": 80}]}))
    assert platform.namespace(NAMESPACE) is not None

    platform.apply({**manifest, "spec": {**manifest["spec"], "plan": "pro", "cordoned": True}})
    platform.await_active(manifest)
    namespace = platform.namespace(NAMESPACE)
    assert namespace is not None
    assert namespace["metadata"]["labels"]["kleff.io/tenant-plan"] == "pro"

    platform.admin.delete(ROLE, "tenant-admin", NAMESPACE)
    eventually(lambda: platform.admin.get(ROLE, "tenant-admin", NAMESPACE), "the Role is back")

    platform.delete(manifest)
    platform.await_gone(manifest)
    assert platform.objects("lives") == {}
    assert platform.namespace(NAMESPACE) is None

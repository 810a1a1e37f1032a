"""The shipped roles for previews grant the rights that a preview needs, and no other rights."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cluster.client import Cluster
from cluster.errors import ClusterError
from tenancy.base.kinds import CONFIG_MAP, MANAGED_KINDS, NAMESPACE, OPTIONAL_KINDS, TENANTS, Kind
from tenancy.base.platform_names import PLANS_CONFIG_MAP, SYSTEM_NAMESPACE
from tenancy.platform.reader_roles import reader_roles
from tests.cli.previews import Previews, previewer_kubeconfig, previews_fixture  # noqa: F401 - fixtures
from tests.platform import Platform, tenant_manifest

_NOTE = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "note"}, "data": {"a": "b"}}
_FORBIDDEN = 403


@pytest.fixture
def previewer(platform: Platform, tmp_path: Path) -> Cluster:
    return Cluster.connect(previewer_kubeconfig(platform, tmp_path / "previewer"))


def test_no_rule_allows_more_than_reading() -> None:
    verbs = {verb for role in reader_roles() for rule in role["rules"] for verb in rule["verbs"]}
    assert verbs == {"get", "list"}
    resources = {name for role in reader_roles() for rule in role["rules"] for name in rule["resources"]}
    assert resources.isdisjoint({"secrets", "pods", "*", "pods/log"})
    assert {kind.plural for kind in (*MANAGED_KINDS, *OPTIONAL_KINDS)} <= resources


def test_the_api_server_refuses_every_write(platform: Platform, previewer: Cluster) -> None:
    tenant = tenant_manifest("intruder")
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "intruder"}}
    status = {"status": {"phase": "Active"}}
    attempts: dict[str, Callable[[], object]] = {
        "create a tenant": lambda: previewer.create(TENANTS[0], tenant),
        "apply a tenant": lambda: previewer.apply(tenant),
        "patch a status": lambda: previewer.patch(TENANTS[0], "intruder", status, subresource="status"),
        "delete a tenant": lambda: previewer.delete(TENANTS[1], "intruder"),
        "create a namespace": lambda: previewer.create(NAMESPACE, namespace),
        "delete a namespace": lambda: previewer.delete(NAMESPACE, SYSTEM_NAMESPACE),
        "read secrets": lambda: previewer.list(Kind("v1", "Secret", "secrets")),
        "read everybody's ConfigMaps": lambda: previewer.list(CONFIG_MAP),
        "read the platform's ConfigMaps": lambda: previewer.list(CONFIG_MAP, namespace=SYSTEM_NAMESPACE),
    }
    for description, attempt in attempts.items():
        with pytest.raises(ClusterError) as refused:
            attempt()
        assert refused.value.status == _FORBIDDEN, description
    assert platform.namespace(SYSTEM_NAMESPACE) is not None
    # Reading the plans is allowed, even if the ConfigMap does not exist. Otherwise, this call would raise an
    # error.
    previewer.get(CONFIG_MAP, PLANS_CONFIG_MAP, SYSTEM_NAMESPACE)


def test_what_can_not_be_read_is_said_and_not_guessed(platform: Platform, previews: Previews) -> None:
    previews.write("with-notes", extraResources=[_NOTE], namespaces=[{"name": "a"}, {"name": "b"}])
    preview = previews.json()
    assert preview["notes"] == ["2 × ConfigMap not compared: no permission to list them"]
    assert "ConfigMap" not in {change["kind"] for change in preview["tenants"][0]["changes"]}

    result = previews.run("preview", "tenants", "--output", "json", KUBECONFIG=str(platform.admin_kubeconfig))
    assert '"kind": "ConfigMap"' in result.stdout
    assert "not compared" not in result.stdout

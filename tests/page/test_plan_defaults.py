"""A tenant's web page shows the settings of the tenant's plan, but not the content of extra objects."""

from tenancy.plans import plans_from_text
from watcher.page.plan_defaults import plan_defaults

PLANS = plans_from_text(
    """
plans:
  small:
    maxNamespaces: 1
    quotas: [{name: main, hard: {cpu: 1, requests.memory: 1Gi, pods: 5}}]
    limits: {}
    extraResources:
      - {apiVersion: v1, kind: ConfigMap, metadata: {name: ca}, data: {token: confidential}}
"""
)


def test_extra_objects_of_the_plan_have_only_kind_and_name() -> None:
    spec = {"plan": "small", "resourceQuotas": {"memory": "2Gi"}}
    defaults = plan_defaults({"metadata": {"name": "acme"}, "spec": spec}, PLANS)
    assert defaults is not None
    assert defaults["extraResources"] == [{"kind": "ConfigMap", "name": "ca"}]
    assert defaults["quotas"] == [{"name": "main", "hard": {"cpu": "1", "pods": "5"}}]


def test_invalid_spec_and_unknown_plan_have_no_defaults() -> None:
    for spec in ({"plan": "none-such"}, {"plan": "small", "paused": "maybe"}):
        assert plan_defaults({"metadata": {"name": "acme"}, "spec": spec}, PLANS) is None

"""Gatekeeper itself: it denies what a constraint forbids, says why, and leaves nothing behind."""

from collections.abc import Iterator

import pytest

from tenancy.kinds import NAMESPACE, Kind
from tenancy.manifest import Manifest
from tests.integrations.gatekeeper import Gatekeeper
from watcher.cluster import Cluster, ClusterError

POD = Kind("v1", "Pod", "pods")
HOME = "gatekeeper-itself"
MESSAGE = "pods here carry the label cost-centre"

REGO = {
    "engine": "Rego",
    "source": {
        "version": "v1",
        "rego": """
package labelled

violation contains {"msg": input.parameters.message} if {
    not input.review.object.metadata.labels["cost-centre"]
}
""",
    },
}
CEL = {
    "engine": "K8sNativeValidation",
    "source": {
        "validations": [
            {
                "expression": "has(object.metadata.labels) && 'cost-centre' in object.metadata.labels",
                "messageExpression": "string(variables.params.message)",
            }
        ]
    },
}


def template(kind: str, code: Manifest) -> Manifest:
    parameters = {"type": "object", "properties": {"message": {"type": "string"}}}
    return {
        "apiVersion": "templates.gatekeeper.sh/v1",
        "kind": "ConstraintTemplate",
        "metadata": {"name": kind.lower()},
        "spec": {
            "crd": {"spec": {"names": {"kind": kind}, "validation": {"openAPIV3Schema": parameters}}},
            "targets": [{"target": "admission.k8s.gatekeeper.sh", "code": [code]}],
        },
    }


def constraint(kind: str, namespace: str) -> Manifest:
    return {
        "apiVersion": "constraints.gatekeeper.sh/v1beta1",
        "kind": kind,
        "metadata": {"name": "labelled"},
        "spec": {
            "match": {"kinds": [{"apiGroups": [""], "kinds": ["Pod"]}], "namespaces": [namespace]},
            "parameters": {"message": MESSAGE},
        },
    }


def pod(namespace: str, **labels: str) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "labelled-", "namespace": namespace, "labels": labels},
        "spec": {"containers": [{"name": "main", "image": "example.test/main"}]},
    }


def add_namespace(admin: Cluster, name: str) -> None:
    admin.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "default", "namespace": name},
    }
    admin.apply(account)


@pytest.fixture
def home(gatekeeper: Gatekeeper, request: pytest.FixtureRequest) -> Iterator[str]:
    name = f"{HOME}-{request.node.callspec.id}"
    add_namespace(gatekeeper.admin, name)
    yield name
    gatekeeper.admin.delete(NAMESPACE, name)


@pytest.mark.parametrize(
    ("kind", "code"), [("LabelledByRego", REGO), ("LabelledByCel", CEL)], ids=["rego", "cel"]
)
def test_pod_that_breaks_a_constraint_is_denied_with_its_message(
    gatekeeper: Gatekeeper, home: str, kind: str, code: Manifest
) -> None:
    gatekeeper.admin.create(POD, pod(home))
    gatekeeper.add_template(template(kind, code))
    gatekeeper.add_constraint(constraint(kind, home))
    with pytest.raises(ClusterError, match=MESSAGE) as denial:
        gatekeeper.admin.create(POD, pod(home))
    assert denial.value.status == 403
    gatekeeper.admin.create(POD, pod(home, **{"cost-centre": "research"}))

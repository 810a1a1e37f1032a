"""The controller of an installed integration may change managed objects.

Other accounts in the controller's namespace cannot change managed objects.
"""

from collections.abc import Iterator

import pytest

from tenancy.base.kinds import RBAC_GROUP, ROLE, Kind
from tests.admission.conftest import CLUSTER_ROLE_BINDING, People
from tests.admission.people import Person, create, delete, denied_by
from tests.waiting import eventually

CLUSTER_ROLE = Kind(f"{RBAC_GROUP}/v1", "ClusterRole", "clusterroles", False)
# The account of each integration's controller, and the kind that this controller writes.
CONTROLLERS = {
    "system:serviceaccount:gatekeeper-system:gatekeeper-admin": (
        *("constraints.gatekeeper.sh", "tenantimageregistries"),
    ),
    "system:serviceaccount:hnc-system:default": ("hnc.x-k8s.io", "hierarchyconfigurations"),
    "system:serviceaccount:istio-system:istiod": ("networking.istio.io", "workloadentries"),
}
OTHERS = [
    f"system:serviceaccount:{namespace}:intruder"
    for namespace in ("gatekeeper-system", "hnc-system", "istio-system")
]
DELETION = delete(ROLE, "tenant-admin")


def groups(account: str) -> str:
    return f"system:serviceaccounts:{account.split(':')[2]}"


@pytest.fixture(scope="module", autouse=True)
def accounts(people: People, administrator: Person) -> Iterator[None]:
    """Let all accounts delete Roles, so that only an admission policy can reject the deletion."""
    role = {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": "role-deleters"}
    subjects = [{"apiGroup": RBAC_GROUP, "kind": "User", "name": name} for name in (*CONTROLLERS, *OTHERS)]
    rules = [{"apiGroups": [RBAC_GROUP], "resources": ["roles"], "verbs": ["delete"]}]
    requests = [
        create(CLUSTER_ROLE, "role-deleters", rules=rules),
        create(CLUSTER_ROLE_BINDING, "role-deleters", roleRef=role, subjects=subjects),
    ]
    for request in requests:
        administrator.do(request)
    last = people(OTHERS[-1], groups(OTHERS[-1]))
    eventually(lambda: "cannot delete resource" not in last.refusal(DELETION), "the accounts delete Roles")
    yield
    for request in requests:
        administrator.do(request.deletion)


@pytest.mark.parametrize("account", OTHERS)
def test_other_account_in_an_integrations_namespace_changes_nothing(account: str, people: People) -> None:
    assert denied_by("managed-objects") in people(account, groups(account)).refusal(DELETION)


@pytest.mark.parametrize("account", CONTROLLERS)
def test_controller_is_trusted_only_while_its_integration_is_installed(
    account: str, people: People, administrator: Person
) -> None:
    controller = people(account, groups(account))
    assert denied_by("managed-objects") in controller.refusal(DELETION)
    group, resource = CONTROLLERS[account]
    role = {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": "integration"}
    subjects = [{"apiGroup": RBAC_GROUP, "kind": "User", "name": account}]
    rules = [{"apiGroups": [group], "resources": [resource], "verbs": ["update"]}]
    requests = [
        create(CLUSTER_ROLE, "integration", rules=rules),
        create(CLUSTER_ROLE_BINDING, "integration", roleRef=role, subjects=subjects),
    ]
    for request in requests:
        administrator.do(request)
    try:
        eventually(lambda: controller.refusal(DELETION) == "", "the controller may delete managed Roles")
    finally:
        for request in requests:
            administrator.do(request.deletion)

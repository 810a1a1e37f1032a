"""The commands that `tenancy` prints for a user who lacks rights.

An administrator runs them to grant the rights.
"""

import pytest

from cli.commands.doctor import _CLUSTER_CHECKS
from cli.rights.grants import bindings_for, new_role_commands
from cli.rights.permissions import Right, rights_text
from tenancy.base.kinds import AISESSION, CONFIG_MAP, RESOURCE_QUOTA, STATEFUL_SET, TENANTS

PREVIEW = "kubectl create clusterrolebinding tenancy-preview-{} --clusterrole=tenancy-preview {}"


@pytest.mark.parametrize(
    ("user", "name", "subject"),
    [
        ("ada", "ada", "--user=ada"),
        ("ada's@example.test", "ada-s-example.test", "--user='ada'\"'\"'s@example.test'"),
        ("system:serviceaccount:ci:pipeline", "ci-pipeline", "--serviceaccount=ci:pipeline"),
    ],
)
def test_command_binds_the_role_to_the_user(user: str, name: str, subject: str) -> None:
    rights = [Right("list", RESOURCE_QUOTA), Right("get", TENANTS[1], name="research")]
    assert bindings_for(user, rights) == ([PREVIEW.format(name, subject)], [])


def test_rights_in_one_namespace_need_a_role_in_this_namespace() -> None:
    watcher = Right("get", STATEFUL_SET, "tenancy-system", "tenancy-watcher")
    bindings, _ = bindings_for("ada", [watcher])
    assert bindings == [
        "kubectl -n tenancy-system create rolebinding tenancy-doctor-ada --role=tenancy-doctor --user=ada"
    ]
    others = [watcher._replace(namespace="other"), watcher._replace(name="other"), Right("list", CONFIG_MAP)]
    assert bindings_for("ada", others) == ([], others)


def test_right_that_no_role_contains_gets_a_new_role() -> None:
    rights = [Right("list", AISESSION), Right("get", AISESSION)]
    assert new_role_commands("ada", "reader", rights) == [
        "kubectl create clusterrole reader --verb=list,get --resource=aisessions.platform.ai",
        "kubectl create clusterrolebinding reader-ada --clusterrole=reader --user=ada",
    ]


def test_shipped_roles_contain_the_rights_of_each_check_of_the_doctor() -> None:
    for subject, check in _CLUSTER_CHECKS.items():
        _, others = bindings_for("ada", check.rights)
        assert bool(others) == bool(check.role), subject


def test_rights_with_the_same_verb_and_namespace_are_combined() -> None:
    rights = [*(Right("list", kind) for kind in TENANTS), Right("list", CONFIG_MAP, "a", "b")]
    text = "list tenants.platform.ai, tenants.kleff.kleff.io; list configmaps/b in namespace a"
    assert rights_text(rights) == text

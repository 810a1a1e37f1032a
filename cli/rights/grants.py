"""Builds the kubectl commands with which an administrator grants missing rights to the user.

The platform installs roles such as `tenancy-preview`. If one of them contains a missing right, the command
binds this role to the user.
"""

import re
import shlex
from collections.abc import Iterable, Sequence
from typing import Final

from cli.rights.permissions import Right, rights_text, user_name
from cluster.client import Cluster
from cluster.errors import ClusterError
from tenancy.base.manifest import Manifest
from tenancy.platform.reader_roles import reader_roles

_SERVICE_ACCOUNT: Final = "system:serviceaccount:"


def current_user(cluster: Cluster) -> str:
    """The name of the user, as the API server reports it. `USER` if the API server does not report it."""
    try:
        return user_name(cluster) or "USER"
    except ClusterError:
        return "USER"


def grants_text(cluster: Cluster, rights: Sequence[Right]) -> str:
    """The end of an error message. It says how the user can get the rights."""
    bindings, others = bindings_for(current_user(cluster), rights)
    parts = [f"ask an administrator to run: {' && '.join(bindings)}"] if bindings else []
    if others:
        parts.append(f"no role of the platform allows you to {rights_text(others)}")
    return "; ".join(parts)


def bindings_for(user: str, rights: Iterable[Right]) -> tuple[list[str], list[Right]]:
    """The kubectl commands that bind roles of the platform to the user, and the remaining rights.

    No role of the platform contains the remaining rights.
    """
    bindings, others, roles = dict[str, None](), [], reader_roles()
    for right in rights:
        role = next((role for role in roles if _contains(role, right)), None)
        if role:
            bindings[_binding(user, role["kind"], role["metadata"])] = None
        else:
            others.append(right)
    return list(bindings), others


def new_role_commands(user: str, name: str, rights: Sequence[Right]) -> list[str]:
    """Two kubectl commands. The first creates the ClusterRole `name` with the rights.

    The second binds the ClusterRole to the user in all namespaces.
    """
    verbs = ",".join(dict.fromkeys(right.verb for right in rights))
    resources = ",".join(dict.fromkeys(right.resource for right in rights))
    create = f"kubectl create clusterrole {name} --verb={verbs} --resource={resources}"
    return [create, _binding(user, "ClusterRole", {"name": name})]


def _contains(role: Manifest, right: Right) -> bool:
    if role["metadata"].get("namespace", right.namespace) != right.namespace:
        return False
    return any(
        right.verb in rule["verbs"]
        and right.kind.group in rule["apiGroups"]
        and right.kind.plural in rule["resources"]
        and right.name in rule.get("resourceNames", (right.name,))
        for rule in role["rules"]
    )


def _binding(user: str, role_kind: str, role: Manifest) -> str:
    name = role["name"]
    # Some characters of user names are not allowed in the name of a binding.
    binding = f"{name}-{re.sub(r'[^A-Za-z0-9._-]+', '-', user.removeprefix(_SERVICE_ACCOUNT))}"
    subject = (
        f"--serviceaccount={user.removeprefix(_SERVICE_ACCOUNT)}"
        if user.startswith(_SERVICE_ACCOUNT)
        else f"--user={shlex.quote(user)}"
    )
    if role_kind == "ClusterRole":
        return f"kubectl create clusterrolebinding {binding} --clusterrole={name} {subject}"
    return f"kubectl -n {role['namespace']} create rolebinding {binding} --role={name} {subject}"

"""Creates kubeconfigs for other users than the administrator."""

from pathlib import Path
from typing import Any

import yaml

from cluster.client import Cluster
from embedded.controlplane.kubeconfig import write_kubeconfig
from tenancy.base.kinds import Kind
from tenancy.base.manifest import Manifest

SELF_REVIEW = Kind("authentication.k8s.io/v1", "SelfSubjectReview", "selfsubjectreviews")
SERVICE_ACCOUNT_NAMESPACE = "default"


def changed_kubeconfig(
    source: Path, path: Path, user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None
) -> Path:
    """Copy the kubeconfig `source` to `path`, and add fields to the user and the cluster of the copy.

    `source` must have exactly one context.
    """
    document = yaml.safe_load(source.read_text())
    document["users"][0]["user"] |= user or {}
    document["clusters"][0]["cluster"] |= cluster or {}
    write_kubeconfig(path, document)
    return path


def identity(cluster: Cluster) -> dict[str, Any]:
    """The name, groups, UID and extra fields of the client's user, as reported by the API server."""
    review = {"apiVersion": SELF_REVIEW.api_version, "kind": SELF_REVIEW.kind, "metadata": {}}
    user: dict[str, Any] = cluster.create(SELF_REVIEW, review)["status"]["userInfo"]
    return user


def allow(admin: Cluster, name: str, user: str, rules: list[Manifest]) -> None:
    """Bind a user to a new ClusterRole with these rules. The user can be a service account's user name."""
    group = "rbac.authorization.k8s.io"
    role = {"apiGroup": group, "kind": "ClusterRole", "name": name}
    subject = {"apiGroup": group, "kind": "User", "name": user}
    header = {"apiVersion": f"{group}/v1", "metadata": {"name": name}}
    admin.apply({**header, "kind": "ClusterRole", "rules": rules})
    admin.apply({**header, "kind": "ClusterRoleBinding", "roleRef": role, "subjects": [subject]})


def service_account_user(name: str) -> str:
    """The user name of the tests' service account `name`."""
    return f"system:serviceaccount:{SERVICE_ACCOUNT_NAMESPACE}:{name}"


def service_account_token(admin: Cluster, name: str, *rules: Manifest) -> str:
    """Create a service account, and return a token for it.

    If rules are given, bind the account to a new ClusterRole with these rules.
    """
    metadata = {"name": name, "namespace": SERVICE_ACCOUNT_NAMESPACE}
    admin.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    if rules:
        allow(admin, name, service_account_user(name), list(rules))
    kind = Kind("v1", "TokenRequest", f"serviceaccounts/{name}/token")
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": metadata}
    token: str = admin.create(kind, {**request, "spec": {"expirationSeconds": 3600}})["status"]["token"]
    return token


def service_account_kubeconfig(source: Path, path: Path, name: str, *rules: Manifest) -> Path:
    """Create a service account like `service_account_token`, and write a kubeconfig with its token.

    `source` is the administrator's kubeconfig.
    """
    document = yaml.safe_load(source.read_text())
    token = service_account_token(Cluster.connect(source), name, *rules)
    document["users"] = [{"name": user["name"], "user": {"token": token}} for user in document["users"]]
    write_kubeconfig(path, document)
    return path


def impersonator_token(admin: Cluster, name: str) -> str:
    """A token of a new service account that can only impersonate other service accounts."""
    rule = {"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"]}
    return service_account_token(admin, name, rule)

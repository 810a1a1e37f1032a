"""Service accounts with rights on tenants, and tokens for them."""

from typing import Any

from tenancy.base.kinds import RBAC_GROUP, SERVICE_ACCOUNT, SUBJECT_ACCESS_REVIEW, Kind
from tenancy.base.names import GROUPS
from tests.platform import Platform


def create_token(platform: Platform, name: str, rules: list[dict[str, Any]]) -> str:
    """Create a service account with these rules on tenants, and return a token for it."""
    metadata = {"name": name}
    platform.apply(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {**metadata, "namespace": "default"}}
    )
    tenants = {"apiGroups": list(GROUPS), "resources": ["tenants"]}
    platform.apply(
        {
            "apiVersion": f"{RBAC_GROUP}/v1",
            "kind": "ClusterRole",
            "metadata": metadata,
            "rules": [{**tenants, **rule} for rule in rules],
        }
    )
    platform.apply(
        {
            "apiVersion": f"{RBAC_GROUP}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": SERVICE_ACCOUNT.kind, "name": name, "namespace": "default"}],
        }
    )
    request = Kind("v1", "TokenRequest", f"serviceaccounts/{name}/token")
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "metadata": {"namespace": "default"},
        "spec": {},
    }
    token: str = platform.admin.create(request, body)["status"]["token"]
    return token


def is_allowed(platform: Platform, account: str, rule: dict[str, Any]) -> bool:
    attributes = {
        "group": rule.get("apiGroups", GROUPS)[0],
        "resource": "tenants",
        "verb": rule["verbs"][0],
        "name": rule.get("resourceNames", [""])[0],
    }
    review = {
        "apiVersion": SUBJECT_ACCESS_REVIEW.api_version,
        "kind": SUBJECT_ACCESS_REVIEW.kind,
        "metadata": {},
        "spec": {"user": f"system:serviceaccount:default:{account}", "resourceAttributes": attributes},
    }
    return bool(platform.admin.create(SUBJECT_ACCESS_REVIEW, review)["status"]["allowed"])

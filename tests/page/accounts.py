"""Creates service accounts with rights on Tenants, and tokens for these accounts."""

from typing import Any

from tenancy.base.kinds import SUBJECT_ACCESS_REVIEW
from tenancy.base.names import GROUPS
from tests.kubeconfigs import service_account_token, service_account_user
from tests.platform import Platform

# The RBAC rules on Tenants of each account, by the name of the account.
RULES: dict[str, list[dict[str, Any]]] = {
    "page-nobody": [],
    "page-reader": [{"verbs": ["list", "get"]}],
    "page-leaver": [{"verbs": ["list", "get"]}],
    "page-half": [{"apiGroups": [GROUPS[0]], "verbs": ["list", "get"]}],
    "page-friend": [{"verbs": ["get"], "resourceNames": ["acme"]}],
}


def create_token(platform: Platform, name: str, rules: list[dict[str, Any]]) -> str:
    """Create a service account with these RBAC rules for Tenants, and return a token for the account."""
    tenants = {"apiGroups": list(GROUPS), "resources": ["tenants"]}
    return service_account_token(platform.admin, name, *({**tenants, **rule} for rule in rules))


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
        "spec": {"user": service_account_user(account), "resourceAttributes": attributes},
    }
    return bool(platform.admin.create(SUBJECT_ACCESS_REVIEW, review)["status"]["allowed"])

"""Breaks the isolation of the tenant `kept-STATE`, and waits until the watcher has restored the isolation."""

from tests.platform import Platform
from tests.waiting import eventually

POLICY = ("NetworkPolicy", "default-deny-all")
BINDING = ("RoleBinding", "tenant-admin")
EVE = {"kind": "User", "name": "eve", "apiGroup": "rbac.authorization.k8s.io"}
ALICE = ["alice"]


def break_isolation(platform: Platform, state: str) -> None:
    """Delete the NetworkPolicy `default-deny-all`, and make another user the admin of the namespace."""
    namespace = f"tenant-kept-{state}-a"
    platform.remove(POLICY[0], namespace, POLICY[1])
    platform.patch(BINDING[0], namespace, BINDING[1], {"subjects": [EVE]})


def await_isolation(platform: Platform, state: str) -> None:
    namespace = f"tenant-kept-{state}-a"
    eventually(lambda: platform.get(POLICY[0], namespace, POLICY[1]), f"{state}: the policy is back")

    def admins() -> list[str]:
        binding = platform.get(BINDING[0], namespace, BINDING[1]) or {}
        return [subject["name"] for subject in binding.get("subjects") or ()]

    eventually(lambda: admins() == ALICE, f"{state}: the admin is alice again")

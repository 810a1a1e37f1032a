"""The API server reports no type errors in the policies' CEL expressions."""

from functools import partial

from tenancy.base.kinds import kind_of
from tenancy.base.manifest import Manifest
from tenancy.platform.manifests import platform_manifests
from tests.platform import Platform
from tests.waiting import eventually


def policy_status(platform: Platform, manifest: Manifest) -> Manifest | None:
    """The status of the live policy, or None until the API server has checked its newest generation."""
    live = platform.admin.get(kind_of(manifest), manifest["metadata"]["name"]) or {}
    status: Manifest = live.get("status", {})
    is_current = status.get("observedGeneration") == live.get("metadata", {}).get("generation")
    return status if live and is_current else None


def test_all_expressions_have_sound_types(platform: Platform) -> None:
    policies = [
        manifest for manifest in platform_manifests() if manifest["kind"] == "ValidatingAdmissionPolicy"
    ]
    assert policies
    for policy in policies:
        name = policy["metadata"]["name"]
        status = eventually(partial(policy_status, platform, policy), f"the API server has checked {name}")
        assert status.get("typeChecking", {}).get("expressionWarnings", []) == [], name

"""The API server finds no fault in the policies' expressions."""

from functools import partial

from tenancy.base.kinds import kind_of
from tenancy.base.manifest import Manifest
from tenancy.platform.manifests import platform_manifests
from tests.platform import Platform
from tests.waiting import eventually


def checked(platform: Platform, manifest: Manifest) -> Manifest | None:
    """What the API server has found in the policy, once it has looked at it."""
    found = platform.admin.get(kind_of(manifest), manifest["metadata"]["name"]) or {}
    status: Manifest = found.get("status", {})
    is_current = status.get("observedGeneration") == found.get("metadata", {}).get("generation")
    return status if found and is_current else None


def test_all_expressions_have_sound_types(platform: Platform) -> None:
    policies = [
        manifest for manifest in platform_manifests() if manifest["kind"] == "ValidatingAdmissionPolicy"
    ]
    assert policies
    for policy in policies:
        name = policy["metadata"]["name"]
        status = eventually(partial(checked, platform, policy), f"{name} is checked")
        assert status.get("typeChecking", {}).get("expressionWarnings", []) == [], name

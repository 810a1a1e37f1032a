"""The web page of a new cluster without tenants. The same tests take the screenshots for the README.

With TENANCY_PICTURES=1, the tests create all tenants that the screenshots show, and replace the files in
docs/. Otherwise, the tests create only some of these tenants, and do not change docs/.
"""

import os
import struct
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tenancy.base.kinds import RESOURCE_QUOTA
from tenancy.base.quantity import quantity_value
from tests.own_cluster import platform_on_own_cluster
from tests.page.browser import open_tab
from tests.platform import ROOT, Platform, tenant_manifest
from tests.sessions.sessions import sessions_of
from tests.waiting import eventually

WIDTH = 1280
# The screenshot of a blank page is much smaller.
PICTURE_MIN_BYTES = 50_000
TWO = [{"name": "dev", "purpose": "development"}, {"name": "prod", "purpose": "production"}]
THREE = [TWO[0], {"name": "staging", "purpose": "staging"}, TWO[1]]

# For each tenant, the share of its quotas that is in use, and its spec.
Samples = dict[str, tuple[float, dict[str, Any]]]
SAMPLES: Samples = {
    "atlas": (0.35, {"plan": "pro", "displayName": "Maps and Places", "namespaces": TWO}),
    "billing": (0.8, {"plan": "basic", "displayName": "Invoices"}),
    "catalog": (0.5, {"plan": "pro", "displayName": "Product Catalog", "namespaces": TWO, "cordoned": True}),
    "checkout": (0.95, {"plan": "enterprise", "displayName": "Checkout", "namespaces": THREE}),
    "identity": (0.25, {"plan": "enterprise", "displayName": "Sign-in and Accounts", "namespaces": THREE}),
    "mobile": (0.4, {"plan": "basic", "displayName": "Mobile Apps"}),
    "payments": (0.0, {"plan": "gold", "displayName": "Payments"}),
    "research": (0.6, {"plan": "pro", "displayName": "Research and Development"}),
    "search": (0.7, {"plan": "enterprise", "displayName": "Search Platform", "namespaces": TWO}),
}
# These samples are enough to show every kind of row: full quota, paused, rejected, changed.
SOME = ("checkout", "mobile", "payments", "research")
# The share of each resource that is in use, relative to the tenant's share.
SHARES = {"cpu": Decimal(1), "memory": Decimal("0.85"), "pods": Decimal("0.7")}
RESEARCH = {
    "adminUsers": ["alice"],
    "rbacConfig": {"groups": ["research-admins"], "serviceAccounts": ["ci-system/runner"]},
    "access": [
        {"kind": "Group", "name": "research-oncall", "role": "operator", "namespaces": ["prod"]},
        {"kind": "User", "name": "auditor", "role": "viewer"},
    ],
    "namespaces": THREE,
    "network": {
        "egress": [{"cidr": "203.0.113.0/24", "ports": [{"port": 443}]}],
        "ingress": [{"cidr": "198.51.100.0/24", "ports": [{"port": 8000, "endPort": 8100}]}],
    },
}


@pytest.fixture(scope="module")
def fresh(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    with platform_on_own_cluster(tools, tmp_path_factory, "fresh") as platform:
        platform.start()
        yield platform


@pytest.fixture
def window(browser: Browser, fresh: Platform) -> Iterator[Page]:
    with open_tab(browser, fresh.port) as tab:
        tab.page.emulate_media(color_scheme="light", reduced_motion="reduce")
        tab.open()
        yield tab.page


def test_page_explains_how_to_create_a_tenant_and_screenshots_are_taken(
    fresh: Platform, window: Page, tmp_path: Path
) -> None:
    expect(window.get_by_role("heading", name="No tenants yet")).to_be_visible()
    expect(window.get_by_text("kubectl apply -f")).to_be_visible()
    expect(window.get_by_role("searchbox")).to_be_hidden()

    is_for_docs = os.environ.get("TENANCY_PICTURES") == "1"
    folder = ROOT / "docs" if is_for_docs else tmp_path
    samples = SAMPLES if is_for_docs else {name: SAMPLES[name] for name in SOME}
    create_samples(fresh, samples)
    expect(window.locator("tbody tr")).to_have_count(len(samples))
    expect(window.locator(".quota-bar.is-full").first).to_be_visible()
    window.screenshot(path=folder / "page-list.png", full_page=True)
    window.get_by_role("link", name="research", exact=True).click()
    newest = window.locator(".update-head").first
    expect(newest).to_contain_text("drift: ")
    newest.click()
    expect(window.locator(".updates del").first).to_be_visible()
    window.evaluate("scrollTo(0, 0)")
    window.screenshot(path=folder / "page-tenant.png", full_page=True)
    for name in ("page-list.png", "page-tenant.png"):
        picture = (folder / name).read_bytes()
        width, height = struct.unpack(">II", picture[16:24])
        assert (width, height >= 900) == (WIDTH, True), name
        assert len(picture) > PICTURE_MIN_BYTES, name


def create_samples(platform: Platform, samples: Samples) -> None:
    manifests = [tenant_manifest(name, **spec) for name, (_, spec) in samples.items()]
    research = next(manifest for manifest in manifests if manifest["metadata"]["name"] == "research")
    research["spec"] |= RESEARCH
    for manifest in manifests:
        platform.apply(manifest)
    for manifest in manifests:
        if manifest["spec"]["plan"] != "gold":
            platform.await_active(manifest)
    research["spec"]["resourceQuotas"] = {"cpu": "6", "memory": "12Gi"}
    platform.apply(research)
    platform.await_active(research)
    create_sessions(platform)
    mobile = tenant_manifest("mobile", **samples["mobile"][1], paused=True)
    platform.apply(mobile)
    platform.await_condition(mobile, "Paused")
    platform.patch(
        *("RoleBinding", "tenant-research-prod", "tenant-admin"),
        {"subjects": [{"kind": "User", "name": "eve", "apiGroup": "rbac.authorization.k8s.io"}]},
    )
    platform.await_condition(research, "Repaired", kind="Drifted")
    for name, (share, _) in samples.items():
        set_usage(platform, name, share)


def create_sessions(platform: Platform) -> None:
    """Create a session that runs, and a session whose model does not exist."""
    sessions = sessions_of(platform, "research", "dev")
    sessions.create("weekly-report", model=None, kind="research")
    sessions.set_pod_status("weekly-report", phase="Running")
    sessions.await_phase("weekly-report", "Running")
    sessions.create("image-search", model="vision")
    sessions.await_phase("image-search", "Pending", "UnknownModel")


def set_usage(platform: Platform, tenant: str, share: float) -> None:
    """Write the used amounts to the status of the quotas, because no pods run in this cluster."""
    for (kind, namespace, name), quota in platform.objects(tenant).items():
        if kind == RESOURCE_QUOTA.kind:
            hard = quota["spec"]["hard"]
            # The quota controller writes each status once. Wait for this write, because it would overwrite
            # the amounts.
            eventually(
                lambda key=(namespace, name), hard=hard: (  # type: ignore[misc]
                    (platform.get("ResourceQuota", *key) or {}).get("status", {}).get("hard") == hard
                ),
                f"quota {namespace}/{name} has a status",
            )
            status = {"hard": hard, "used": {key: used_amount(key, hard[key], share) for key in hard}}
            platform.admin.patch(
                RESOURCE_QUOTA, name, {"status": status}, namespace=namespace, subresource="status"
            )


def used_amount(key: str, hard: str, share: float) -> str:
    """The given share of a hard limit, in a readable unit."""
    amount = quantity_value(hard) * Decimal(str(share)) * SHARES.get(key, Decimal("0.5"))
    if hard.endswith("i"):
        unit = "Gi" if amount >= quantity_value("2Gi") else "Mi"
        return f"{amount / quantity_value(f'1{unit}'):.0f}{unit}"
    return f"{amount * 1000:.0f}m" if key.endswith("cpu") else f"{amount:.0f}"

"""CoreDNS's configuration follows the tenants' namespaces, as they come, are adopted, end and go."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from cluster.client import ClusterError
from tenancy.base.kinds import CONFIG_MAP, NAMESPACE, Kind
from tenancy.base.manifest import Manifest
from tenancy.base.names import object_labels
from tenancy.platform.coredns import COREDNS_CONFIG_MAP, COREDNS_NAMESPACE, COREFILE_KEY
from tests.platform import NewTenant, Platform, tenant_manifest
from tests.waiting import eventually
from watcher.dns import namespace_groups

ADMISSION = "admissionregistration.k8s.io/v1"
POLICY = Kind(ADMISSION, "ValidatingAdmissionPolicy", "validatingadmissionpolicies", False)
BINDING = Kind(ADMISSION, "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", False)
REFUSAL = "no-dns-config"


def namespace(name: str, tenant: str, **metadata: str) -> Manifest:
    labels = object_labels(tenant) if tenant else {}
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": labels, **metadata},
    }


@pytest.fixture(scope="module")
def running_platform(running_platform: Platform) -> Iterator[Platform]:
    """The platform, with a watcher that writes the DNS configuration."""
    running_platform.stop()
    running_platform.start("--dns-isolation")
    yield running_platform
    running_platform.stop()


@pytest.fixture
def refusal(platform: Platform) -> Iterator[None]:
    """A policy by which nobody can write the ConfigMap, in force."""
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "resources": ["configmaps"],
        "resourceNames": [COREDNS_CONFIG_MAP],
        "operations": ["CREATE", "UPDATE"],
    }
    specs = {
        POLICY: {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": "false", "message": "not now"}],
        },
        BINDING: {"policyName": REFUSAL, "validationActions": ["Deny"]},
    }

    def is_refused() -> bool:
        change = {"metadata": {"annotations": {"tried": str(uuid4())}}}
        try:
            platform.admin.patch(CONFIG_MAP, COREDNS_CONFIG_MAP, change, namespace=COREDNS_NAMESPACE)
        except ClusterError as error:
            return "not now" in str(error)
        return False

    place = (COREDNS_CONFIG_MAP, COREDNS_NAMESPACE)
    eventually(lambda: platform.admin.get(CONFIG_MAP, *place), "the ConfigMap is there")
    for kind, spec in specs.items():
        metadata = {"name": REFUSAL}
        platform.apply(
            {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec}
        )
    eventually(is_refused, "the ConfigMap can't be written")
    yield
    for kind in specs:
        platform.admin.delete(kind, REFUSAL)
    eventually(lambda: not is_refused(), "the ConfigMap can be written again")


def await_line(platform: Platform, line: str, is_there: bool = True) -> None:
    """Until the Corefile has the family, or no longer has it."""

    def is_so() -> bool:
        found = platform.admin.get(CONFIG_MAP, COREDNS_CONFIG_MAP, COREDNS_NAMESPACE)
        lines = found["data"].get(COREFILE_KEY, "").splitlines() if found else []
        return bool(lines) and (line in lines) == is_there

    eventually(is_so, f"{line} is {'' if is_there else 'not '}in the Corefile")


def test_group_is_a_tenants_live_namespaces() -> None:
    found = namespace_groups(
        [
            namespace("tenant-a", "a"),
            namespace("tenant-a-b", "a-b"),
            namespace("payments", "a"),
            namespace("tenant-a-old", "a", deletionTimestamp="2030-01-01T00:00:00Z"),
            namespace("stray", ""),
            namespace("strayed", ""),
        ]
    )
    assert sorted(map(sorted, found)) == [
        ["payments", "tenant-a"],
        ["stray"],
        ["strayed"],
        ["tenant-a-b"],
        ["tenant-a-old"],
    ]


def test_second_namespace_is_listed_and_goes_with_its_tenant(
    platform: Platform, new_tenant: NewTenant
) -> None:
    manifest = new_tenant("spreads", namespaces=[{"name": "one"}])
    platform.await_active(manifest)
    await_line(platform, "/tenant-spreads-one/tenant-spreads-two/", is_there=False)

    platform.apply({**manifest, "spec": {"namespaces": [{"name": "one"}, {"name": "two"}]}})
    await_line(platform, "/tenant-spreads-one/tenant-spreads-two/")

    platform.delete(manifest)
    await_line(platform, "/tenant-spreads-one/tenant-spreads-two/", is_there=False)


def test_adopted_namespace_is_listed_though_it_is_the_only_one(
    platform: Platform, new_tenant: NewTenant
) -> None:
    platform.admin.create(NAMESPACE, namespace("ledger", ""))
    manifest = new_tenant("bookkeeper", adopt=True, namespaces=[{"name": "books", "existing": "ledger"}])
    await_line(platform, "/ledger/")

    platform.delete(manifest)
    await_line(platform, "/ledger/", is_there=False)
    assert platform.namespace("ledger") is None


@pytest.fixture(scope="module")
def listed(running_platform: Platform) -> Iterator[str]:
    """The line of a tenant whose namespaces are in the Corefile."""
    running_platform.ensure_started()
    manifest = tenant_manifest("listed", namespaces=[{"name": "one"}, {"name": "two"}])
    running_platform.apply(manifest)
    running_platform.await_active(manifest)
    yield "/tenant-listed-one/tenant-listed-two/"
    running_platform.verify_and_delete([manifest])


@pytest.mark.parametrize("harm", ["edited", "deleted"])
def test_what_is_changed_by_hand_comes_back(platform: Platform, listed: str, harm: str) -> None:
    await_line(platform, listed)
    if harm == "edited":
        change = {"data": {COREFILE_KEY: "# nothing\n"}}
        platform.admin.patch(CONFIG_MAP, COREDNS_CONFIG_MAP, change, namespace=COREDNS_NAMESPACE)
    else:
        platform.admin.delete(CONFIG_MAP, COREDNS_CONFIG_MAP, COREDNS_NAMESPACE)
    await_line(platform, listed)


@pytest.mark.usefixtures("refusal")
def test_tenants_go_on_while_the_config_cannot_be_written(platform: Platform, new_tenant: NewTenant) -> None:
    manifest = new_tenant("undaunted", namespaces=[{"name": "one"}, {"name": "two"}])
    platform.await_active(manifest)
    eventually(
        lambda: "DNS config not written" in [line["message"] for line in platform.log()],
        "the log tells of it",
    )
    assert platform.http_get("/healthz") == (200, "ok\n")
    platform.admin.delete(POLICY, REFUSAL)
    await_line(platform, "/tenant-undaunted-one/tenant-undaunted-two/")


def test_config_is_written_only_on_request(platform: Platform, new_tenant: NewTenant) -> None:
    platform.stop()
    platform.admin.delete(CONFIG_MAP, COREDNS_CONFIG_MAP, COREDNS_NAMESPACE)
    platform.start()
    platform.await_active(new_tenant("without-dns-isolation"))
    assert platform.admin.get(CONFIG_MAP, COREDNS_CONFIG_MAP, COREDNS_NAMESPACE) is None
    platform.stop()
    platform.start("--dns-isolation")

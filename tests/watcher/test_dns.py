"""The watcher updates the CoreDNS configuration when tenants' namespaces are created, adopted or deleted."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.informer import Informer
from tenancy.base.kinds import CONFIG_MAP, NAMESPACE, Kind
from tenancy.base.labels import ADOPTION_ANNOTATION, object_labels
from tenancy.base.manifest import Manifest, ObjectKey, object_key
from tenancy.base.platform_names import COREDNS_CONFIG_MAP, COREDNS_NAMESPACE
from tenancy.platform.coredns import COREFILE_KEY
from tests.platform import NewTenant, Platform, tenant_manifest
from tests.waiting import eventually
from watcher.dns import DnsConfig, namespace_groups

ADMISSION = "admissionregistration.k8s.io/v1"
POLICY = Kind(ADMISSION, "ValidatingAdmissionPolicy", "validatingadmissionpolicies", False)
BINDING = Kind(ADMISSION, "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", False)
REJECTING_POLICY = "no-dns-config"


def namespace(name: str, tenant: str, **metadata: str) -> Manifest:
    labels = object_labels(tenant) if tenant else {}
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": labels, **metadata},
    }


@pytest.fixture(scope="module")
def running_platform(running_platform: Platform) -> Iterator[Platform]:
    """The platform with a watcher that writes the CoreDNS configuration."""
    running_platform.stop()
    running_platform.start("--dns-isolation")
    yield running_platform
    running_platform.stop()


@pytest.fixture
def rejecting_policy(platform: Platform) -> Iterator[None]:
    """An admission policy that rejects every write of the ConfigMap. The policy is in effect."""
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
        BINDING: {"policyName": REJECTING_POLICY, "validationActions": ["Deny"]},
    }

    def is_rejected() -> bool:
        change = {"metadata": {"annotations": {"tried": str(uuid4())}}}
        try:
            platform.admin.patch(CONFIG_MAP, COREDNS_CONFIG_MAP, change, namespace=COREDNS_NAMESPACE)
        except ClusterError as error:
            return "not now" in str(error)
        return False

    eventually(
        lambda: platform.admin.get(CONFIG_MAP, COREDNS_CONFIG_MAP, COREDNS_NAMESPACE), "the ConfigMap exists"
    )
    for kind, spec in specs.items():
        metadata = {"name": REJECTING_POLICY}
        platform.apply(
            {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec}
        )
    eventually(is_rejected, "the ConfigMap cannot be written")
    yield
    for kind in specs:
        platform.admin.delete(kind, REJECTING_POLICY)
    eventually(lambda: not is_rejected(), "the ConfigMap can be written again")


def await_line(platform: Platform, line: str, is_listed: bool = True) -> None:
    """Wait until the Corefile contains the line.

    If `is_listed` is false, wait until it does not contain the line.
    """

    def is_as_expected() -> bool:
        config_map = platform.admin.get(CONFIG_MAP, COREDNS_CONFIG_MAP, COREDNS_NAMESPACE)
        lines = config_map["data"].get(COREFILE_KEY, "").splitlines() if config_map else []
        return bool(lines) and (line in lines) == is_listed

    eventually(is_as_expected, f"{line} is {'' if is_listed else 'not '}in the Corefile")


def test_group_is_a_tenants_live_namespaces() -> None:
    groups = namespace_groups(
        [
            namespace("tenant-a", "a"),
            namespace("tenant-a-b", "a-b"),
            namespace("payments", "a"),
            namespace("tenant-a-old", "a", deletionTimestamp="2030-01-01T00:00:00Z"),
            namespace("stray", ""),
            namespace("strayed", ""),
        ]
    )
    assert sorted(map(sorted, groups)) == [
        ["payments", "tenant-a"],
        ["stray"],
        ["strayed"],
        ["tenant-a-b"],
        ["tenant-a-old"],
    ]


class KnownNamespaces(Informer):
    """An informer with fixed namespaces, which sends no requests."""

    def __init__(self, cluster: Cluster, namespaces: list[Manifest]) -> None:
        super().__init__(cluster, NAMESPACE, lambda _before, _after: None)
        self.namespaces = {object_key(manifest): manifest for manifest in namespaces}

    def object_keys(self) -> list[ObjectKey]:
        return list(self.namespaces)

    def get(self, key: ObjectKey) -> Manifest | None:
        return self.namespaces.get(key)


def test_too_many_tenants_for_the_config_map_are_reported(platform: Platform) -> None:
    names = [f"tenant-{number:05}-{'x' * 45}" for number in range(20_000)]
    namespaces = [namespace(name, str(number // 2)) for number, name in enumerate(names)]
    known = KnownNamespaces(platform.admin, namespaces[:1000])
    config = DnsConfig(platform.admin, known)
    assert config.desired() is not None
    assert config.notes() == []
    known.namespaces = {object_key(manifest): manifest for manifest in namespaces}
    config.desired()
    (note,) = config.notes()
    assert note.startswith("DNS isolation: ConfigMap kube-system/tenancy-coredns is full; the pods of ")


def test_second_namespace_is_listed_and_removed_with_its_tenant(
    platform: Platform, new_tenant: NewTenant
) -> None:
    manifest = new_tenant("spreads", namespaces=[{"name": "one"}])
    platform.await_active(manifest)
    await_line(platform, "/tenant-spreads-one/tenant-spreads-two/", is_listed=False)

    platform.apply({**manifest, "spec": {"namespaces": [{"name": "one"}, {"name": "two"}]}})
    await_line(platform, "/tenant-spreads-one/tenant-spreads-two/")

    platform.delete(manifest)
    await_line(platform, "/tenant-spreads-one/tenant-spreads-two/", is_listed=False)


def test_adopted_namespace_is_listed_even_if_it_is_the_only_one(
    platform: Platform, new_tenant: NewTenant
) -> None:
    ledger = namespace("ledger", "")
    ledger["metadata"]["annotations"] = {ADOPTION_ANNOTATION: "bookkeeper"}
    platform.admin.create(NAMESPACE, ledger)
    manifest = new_tenant("bookkeeper", adopt=True, namespaces=[{"name": "books", "existing": "ledger"}])
    await_line(platform, "/ledger/")

    platform.delete(manifest)
    await_line(platform, "/ledger/", is_listed=False)
    assert platform.namespace("ledger") is None


@pytest.fixture(scope="module")
def listed(running_platform: Platform) -> Iterator[str]:
    """The line in the Corefile for a tenant with two namespaces."""
    running_platform.ensure_started()
    manifest = tenant_manifest("listed", namespaces=[{"name": "one"}, {"name": "two"}])
    running_platform.apply(manifest)
    running_platform.await_active(manifest)
    yield "/tenant-listed-one/tenant-listed-two/"
    running_platform.verify_and_abandon([manifest])


@pytest.mark.parametrize("action", ["edited", "deleted"])
def test_edited_or_deleted_config_map_is_restored(platform: Platform, listed: str, action: str) -> None:
    await_line(platform, listed)
    if action == "edited":
        change = {"data": {COREFILE_KEY: "# nothing\n"}}
        platform.admin.patch(CONFIG_MAP, COREDNS_CONFIG_MAP, change, namespace=COREDNS_NAMESPACE)
    else:
        platform.admin.delete(CONFIG_MAP, COREDNS_CONFIG_MAP, COREDNS_NAMESPACE)
    await_line(platform, listed)


@pytest.mark.usefixtures("rejecting_policy")
def test_tenants_are_applied_while_the_config_cannot_be_written(
    platform: Platform, new_tenant: NewTenant
) -> None:
    manifest = new_tenant("undaunted", namespaces=[{"name": "one"}, {"name": "two"}])
    platform.await_active(manifest)
    eventually(
        lambda: "DNS config not written" in [line["message"] for line in platform.log()],
        "the log has the error",
    )
    assert platform.http_get("/healthz") == (200, "ok\n")
    platform.admin.delete(POLICY, REJECTING_POLICY)
    await_line(platform, "/tenant-undaunted-one/tenant-undaunted-two/")


def test_config_is_written_only_on_request(platform: Platform, new_tenant: NewTenant) -> None:
    platform.stop()
    platform.admin.delete(CONFIG_MAP, COREDNS_CONFIG_MAP, COREDNS_NAMESPACE)
    platform.start()
    platform.await_active(new_tenant("without-dns-isolation"))
    assert platform.admin.get(CONFIG_MAP, COREDNS_CONFIG_MAP, COREDNS_NAMESPACE) is None
    platform.stop()
    platform.start("--dns-isolation")

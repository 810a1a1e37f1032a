"""The namespaces that the Corefile lists. `tests/integrations` tests the Corefile with a real CoreDNS."""

from pathlib import Path

import pytest

from tenancy.platform.coredns import CorednsSettings, coredns_config_map, corefile, unlisted_groups

# The API server rejects a ConfigMap if its data has more bytes than this.
MAX_CONFIG_MAP = 1024 * 1024


def namespace_lines(text: str) -> set[str]:
    return {line for line in text.splitlines() if line.startswith("/")}


@pytest.mark.parametrize(
    ("families", "lines"),
    [
        ([], set()),
        # A tenant's only namespace needs no line if its name is tenant-NAME. The rules derive the tenant from
        # this name.
        ([["tenant-a"], ["tenant-b"]], set()),
        ([["tenant-a", "tenant-a-x"], ["tenant-a-b"]], {"/tenant-a/tenant-a-x/"}),
        # An adopted namespace needs a line, because its name does not show that it belongs to a tenant.
        ([["payments"]], {"/payments/"}),
        ([["tenant-a", "payments"], ["billing"]], {"/payments/tenant-a/", "/billing/"}),
    ],
)
def test_only_what_a_name_does_not_tell_is_listed(families: list[list[str]], lines: set[str]) -> None:
    assert namespace_lines(corefile(families)) == lines


def test_five_thousand_tenants_fit_into_a_config_map() -> None:
    names = ("development", "staging", "production")
    tenants = [[f"tenant-customer-number-{number:05}-{name}" for name in names] for number in range(5000)]
    data = coredns_config_map([*tenants, ["payments"]])["data"]
    assert len(namespace_lines(data["Corefile"])) == 5001
    assert sum(len(key) + len(text.encode()) for key, text in data.items()) < MAX_CONFIG_MAP
    assert unlisted_groups(tenants) == 0


def test_list_that_is_too_long_stays_within_a_config_map_and_keeps_adopted_namespaces() -> None:
    tenants = [[f"tenant-{number:05}-{'x' * 40}-{name}" for name in "ab"] for number in range(20_000)]
    adopted = [[f"adopted-{number}"] for number in range(100)]
    groups = [*tenants, *adopted]
    data = coredns_config_map(groups)["data"]
    assert sum(len(key) + len(text.encode()) for key, text in data.items()) < MAX_CONFIG_MAP
    lines = namespace_lines(data["Corefile"])
    # Without a line, CoreDNS would treat an adopted namespace as a namespace of the platform.
    assert lines >= {f"/{name}/" for (name,) in adopted}
    assert len(lines) + unlisted_groups(groups) == len(groups)
    assert unlisted_groups(groups) > 0


def test_order_of_tenants_and_namespaces_changes_nothing() -> None:
    families = [["tenant-a", "tenant-a-x"], ["billing"], ["tenant-b", "payments"]]
    reversed_families = [list(reversed(family)) for family in reversed(families)]
    assert corefile(reversed_families) == corefile(families)


def test_in_a_pod_it_needs_nothing_but_its_service_account() -> None:
    text = corefile([])
    assert "cluster.local:53 in-addr.arpa:53 ip6.arpa:53 {" in text
    assert "forward . /etc/resolv.conf {" in text
    assert "kubeconfig" not in text
    assert "bind" not in text


def test_surroundings_hold_throughout() -> None:
    kubeconfig = Path("/somewhere/kubeconfig")
    settings = CorednsSettings("example.internal", address="192.0.2.1", port=1053, kubeconfig=kubeconfig)
    text = corefile([], settings)
    assert "cluster.local" not in text
    assert text.count("    bind 192.0.2.1\n") == 5
    assert ":53 " not in text
    assert "        kubeconfig /somewhere/kubeconfig\n" in text


def test_config_map_is_where_coredns_can_mount_it_and_says_how() -> None:
    manifest = coredns_config_map([["payments"]])
    assert manifest["metadata"] == {"name": "tenancy-coredns", "namespace": "kube-system"}
    assert manifest["data"] == {"Corefile": corefile([["payments"]])}
    command = next(line for line in manifest["data"]["Corefile"].splitlines() if "kubectl" in line)
    assert command.startswith("#   kubectl -n kube-system patch deployment coredns ")
    assert '"configMap": {"name": "tenancy-coredns"}' in command

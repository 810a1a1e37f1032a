"""`tenancy` uses the identity in the kubeconfig, and the options `--as`, `--as-group` and `--as-uid`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from embedded.controlplane.loopback import HOST
from tests.cli.conftest import Run
from tests.cli.previews import previewer_kubeconfig
from tests.cluster.connect_proxy import connect_proxy
from tests.kubeconfigs import changed_kubeconfig
from tests.platform import Platform, tenant_manifest
from tests.shared import shared_tenants

TENANT = tenant_manifest("guarded", displayName="Guarded")
PREVIEWER = "system:serviceaccount:default:previewer"
MASTERS = "system:masters"


@pytest.fixture(scope="module", autouse=True)
def _tenant(running_platform: Platform) -> Iterator[None]:
    with shared_tenants(running_platform, TENANT):
        yield


@pytest.fixture
def impersonating(platform: Platform, tmp_path: Path) -> Any:
    """A function that writes a copy of the administrator's kubeconfig, with more fields for its user."""

    def write(**user: Any) -> str:
        return str(changed_kubeconfig(platform.admin_kubeconfig, tmp_path / "kubeconfig", user))

    return write


def spec(platform: Platform) -> tuple[Any, ...]:
    tenant = platform.tenant(TENANT)
    assert tenant is not None
    return tenant["metadata"]["generation"], tenant["spec"]


def test_pause_is_refused_to_the_impersonated_user_of_the_kubeconfig(
    platform: Platform, tenancy: Run, impersonating: Any
) -> None:
    before = spec(platform)
    forbidden, missing = 'is forbidden: User "imp-bob" cannot', "you cannot "
    commands = {
        ("pause", "guarded"): forbidden,
        ("resume", "guarded"): forbidden,
        ("show", "guarded"): f"{missing}get tenants.platform.ai/guarded",
        ("list",): f"{missing}list tenants.platform.ai",
    }
    for command, message in commands.items():
        result = tenancy(*command, KUBECONFIG=impersonating(**{"as": "imp-bob"}))
        assert result.returncode == 1, result.stdout
        assert message in result.stderr
        assert result.stdout == ""
    assert spec(platform) == before


def test_user_that_can_only_read_cannot_write(
    platform: Platform, tenancy: Run, impersonating: Any, tmp_path: Path
) -> None:
    previewer_kubeconfig(platform, tmp_path / "previewer")
    before = spec(platform)
    kubeconfig = impersonating(**{"as": PREVIEWER})
    result = tenancy("pause", "guarded", KUBECONFIG=kubeconfig)
    assert result.returncode == 1
    assert f'User "{PREVIEWER}" cannot patch resource "tenants"' in result.stderr
    result = tenancy("--as", PREVIEWER, "pause", "guarded")
    assert f'User "{PREVIEWER}" cannot patch resource "tenants"' in result.stderr
    assert spec(platform) == before


def test_groups_of_the_kubeconfig_and_of_the_options_give_rights(tenancy: Run, impersonating: Any) -> None:
    kubeconfig = impersonating(**{"as": "imp-bob", "as-groups": ["devs", MASTERS]})
    result = tenancy("pause", "guarded", KUBECONFIG=kubeconfig)
    assert (result.returncode, result.stdout) == (0, "guarded is paused.\n"), result.stderr
    result = tenancy("--as", "imp-bob", "--as-group", "devs", "--as-group", MASTERS, "resume", "guarded")
    assert (result.returncode, result.stdout) == (0, "guarded is resumed.\n"), result.stderr


def test_options_replace_the_user_of_the_kubeconfig(
    platform: Platform, tenancy: Run, impersonating: Any
) -> None:
    before = spec(platform)
    result = tenancy("--as", "imp-carol", "--as-uid", "7", "pause", "guarded")
    assert 'is forbidden: User "imp-carol" cannot' in result.stderr
    kubeconfig = impersonating(**{"as": "imp-bob"})
    result = tenancy("--as", "imp-carol", "pause", "guarded", KUBECONFIG=kubeconfig)
    assert 'is forbidden: User "imp-carol" cannot' in result.stderr
    # If the kubeconfig contains a user to impersonate, `--as-group` works without `--as`.
    result = tenancy("--as-group", MASTERS, "show", "guarded", KUBECONFIG=kubeconfig)
    assert result.returncode == 0, result.stderr
    assert spec(platform) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--as-group", MASTERS), "context 'embedded': user 'embedded': as: must be set, or use --as"),
        (("--as-uid", "7"), "context 'embedded': user 'embedded': as: must be set, or use --as"),
        (("--as", ""), "Invalid value for '--as': must not be empty"),
        (("--as", "imp-bob", "--as-group", ""), "Invalid value for '--as-group': must not be empty"),
    ],
)
def test_incomplete_options_are_rejected(options: tuple[str, ...], message: str, tenancy: Run) -> None:
    result = tenancy(*options, "list", COLUMNS="300")
    assert result.returncode == 1
    assert message in result.stderr


def test_commands_that_do_not_ask_the_api_server_do_not_ignore_the_user(
    platform: Platform, tenancy: Run
) -> None:
    result = tenancy("--as", "imp-bob", "history", "guarded")
    assert (result.returncode, result.stdout) == (1, "")
    assert 'is forbidden: User "imp-bob" cannot' in result.stderr
    assert (
        "spec generation 1" in tenancy("--as", "imp-bob", "--as-group", MASTERS, "history", "guarded").stdout
    )
    result = tenancy("--as", "imp-bob", "usage", "--db", str(platform.folder / "run" / "usage.db"))
    assert result.returncode == 1
    assert "Invalid value for --as" in result.stderr


def test_doctor_reports_the_rights_of_the_impersonated_user(tenancy: Run) -> None:
    result = tenancy("--as", "imp-bob", "doctor", "-o", "json")
    assert "missing permissions: get tenants.platform.ai" in result.stdout


def test_completion_has_the_identity_of_the_options(tenancy: Run) -> None:
    def completions(options: str) -> str:
        words = f"tenancy {options} show guar"
        return tenancy(
            _TENANCY_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(len(words.split()) - 1)
        ).stdout

    assert completions(f"--as imp-bob --as-group {MASTERS}").split() == ["guarded"]
    assert completions("--as imp-bob").split() == []


def test_requests_go_through_the_proxy_of_the_kubeconfig(
    platform: Platform, tenancy: Run, tmp_path: Path
) -> None:
    with connect_proxy() as proxy:
        cluster = {"proxy-url": f"http://{HOST}:{proxy.port}"}
        kubeconfig = changed_kubeconfig(platform.admin_kubeconfig, tmp_path / "kubeconfig", cluster=cluster)
        result = tenancy("list", KUBECONFIG=str(kubeconfig))
        assert "guarded" in result.stdout, result.stderr
    assert proxy.targets


def test_proxy_that_cannot_be_used_is_rejected_with_file_context_and_field(
    platform: Platform, tenancy: Run, tmp_path: Path
) -> None:
    cluster = {"proxy-url": "socks5://me:hunter2@127.0.0.1:1080"}
    kubeconfig = changed_kubeconfig(platform.admin_kubeconfig, tmp_path / "kubeconfig", cluster=cluster)
    result = tenancy("list", KUBECONFIG=str(kubeconfig))
    assert result.returncode == 1
    assert result.stderr == (
        f"error: {kubeconfig}: context 'embedded': cluster 'embedded': proxy-url: tenancy does not support "
        "the proxy scheme 'socks5'; use http://HOST:PORT or https://HOST:PORT\n"
    )

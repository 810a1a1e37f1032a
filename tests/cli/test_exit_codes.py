"""The commands return the exit codes that `docs/howto/ci.md` and `docs/howto/cli.md` document."""

import re

import pytest

from cli.commands.apply import PAUSED
from cli.manifests.read import ManifestSet
from cli.preview.compare import Comparison
from cli.preview.comparison_base import empty_base
from cli.preview.exit_code import CHANGES, ERROR, NO_CHANGES, exit_code
from embedded.environment import ROOT
from tenancy.plans import read_plans
from tests.cli.previews import Previews, offline_fixture, previews_fixture  # noqa: F401 - fixtures
from tests.platform import NewTenant

_HOWTO = ROOT / "docs" / "howto"


def documented_codes(page: str) -> set[int]:
    _, _, table = (_HOWTO / page).read_text("utf-8").partition("| exit code | meaning |")
    return {int(code) for code in re.findall(r"^\| (\d) \|", table.partition("\n\n")[0], re.MULTILINE)}


def documented_code(options: str, tenants: str) -> int:
    """The documented exit code of a preview, if the given paths contain no Tenant.

    `tenants` says whether the old state contains Tenants.
    """
    row = re.search(
        rf"^\| {re.escape(options)} \| {tenants} \| (\d) \|$", (_HOWTO / "ci.md").read_text("utf-8"), re.M
    )
    assert row is not None, (options, tenants)
    return int(row[1])


def test_pages_list_all_exit_codes() -> None:
    assert documented_codes("ci.md") == {NO_CHANGES, ERROR, CHANGES}
    assert documented_codes("cli.md") == {NO_CHANGES, ERROR, CHANGES, PAUSED}


@pytest.mark.parametrize(("options", "arguments"), [("none", ()), ("`--offline`", ("--offline",))])
def test_paths_without_a_tenant_are_an_error(
    offline_previews: Previews, options: str, arguments: tuple[str, ...]
) -> None:
    offline_previews.write("other", "kind: ConfigMap\n")
    result = offline_previews.run("preview", "tenants", *arguments)
    assert result.returncode == documented_code(options, "any" if options == "none" else "none")
    assert "found no Tenant" in result.stderr


@pytest.mark.parametrize("tenants", ["none", "some"])
def test_paths_without_a_tenant_compared_with_a_revision(offline_previews: Previews, tenants: str) -> None:
    offline_previews.write("other", "kind: ConfigMap\n")
    tenant = offline_previews.write("acme", "" if tenants == "some" else "kind: Secret\n")
    offline_previews.commit()
    tenant.unlink()
    result = offline_previews.run("preview", "tenants", "--against", "HEAD")
    assert result.returncode == documented_code("`--against REF`", tenants), result.stderr


def test_paths_without_a_tenant_are_a_deletion_with_prune(previews: Previews, new_tenant: NewTenant) -> None:
    new_tenant("exit-pruned")
    previews.write("other", "kind: ConfigMap\n")
    result = previews.run("preview", "tenants", "--prune")
    assert result.returncode == documented_code("`--prune`", "some"), result.stderr
    nothing = Comparison(read_plans(), empty_base()).preview(ManifestSet((), (), 1), is_complete=True)
    assert exit_code(nothing) == documented_code("`--prune`", "none")

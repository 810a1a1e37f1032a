"""`tenancy list`, `tenancy crd`, the global options, and shell completion of tenant names."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tenancy.base.manifest import Manifest
from tenancy.plans import SHIPPED_PLANS
from tenancy.spec.crd import crds
from tests.cli.conftest import Run
from tests.integrations.pods import POD, allow_pods, pod
from tests.platform import Platform, tenant_manifest
from tests.shared import shared_tenants

IDLE, BUSY, FAILED, TABBED = "listed-a", "listed-b", "listed-c", ("tabbed", "tabular")


def labelled(manifest: Manifest, listed: str) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], "labels": {"listed": listed}}}


@pytest.fixture(scope="module", autouse=True)
def _tenants(running_platform: Platform) -> Iterator[None]:
    manifests = [
        labelled(tenant_manifest(IDLE, plan="pro"), "yes"),
        labelled(tenant_manifest(BUSY), "no"),
        tenant_manifest(FAILED, plan="none-such"),
        *(tenant_manifest(name, paused=True) for name in TABBED),
    ]
    with shared_tenants(running_platform, *manifests):
        allow_pods(running_platform.admin, f"tenant-{BUSY}")
        running_platform.admin.create(POD, pod(f"tenant-{BUSY}"))
        yield


def test_list_shows_phase_plan_and_quota(platform: Platform, tenancy: Run) -> None:
    result = tenancy("list")
    assert result.returncode == 0, result.stderr
    header, *lines = result.stdout.splitlines()
    # If other tests have created Tenants in both API groups, the table also has the column GROUP.
    columns = header.split()
    (line,) = [dict(zip(columns, line.split(), strict=False)) for line in lines if line.split()[0] == IDLE]
    assert [line[column] for column in ("PHASE", "PLAN", "NAMESPACES")] == ["Active", "pro", "1"]
    quota = platform.get("ResourceQuota", f"tenant-{IDLE}", "tenant-quota")
    assert quota is not None
    assert line["CPU"] == f"0/{quota['spec']['hard']['cpu']}"

    rows = {row["name"]: row for row in json.loads(tenancy("list", "-o", "json").stdout)}
    assert rows[IDLE]["phase"] == "Active"
    yaml_rows = yaml.safe_load(tenancy("list", "-o", "yaml").stdout)
    assert {row["name"]: row for row in yaml_rows}[IDLE] == rows[IDLE]


def test_list_says_why_a_tenant_failed(tenancy: Run) -> None:
    (line,) = [line for line in tenancy("list").stdout.splitlines() if line.startswith(FAILED)]
    assert "Failed" in line
    assert "UnknownPlan" in line


def test_global_options_are_accepted_anywhere_on_the_line(platform: Platform, tenancy: Run) -> None:
    kubeconfig = yaml.safe_load(platform.admin_kubeconfig.read_text())
    options = ("--kubeconfig", str(platform.admin_kubeconfig), "--context", kubeconfig["current-context"])
    expected = tenancy("list").stdout
    for arguments in ((*options, "list"), ("list", *options), (*options[:2], "list", *options[2:])):
        result = tenancy(*arguments, KUBECONFIG="/nowhere")
        assert (result.returncode, result.stdout) == (0, expected), result.stderr
    for line in ("--context none-such list", "list --context none-such"):
        assert "none-such" in tenancy(*line.split()).stderr
    # If an option is given before and after the command, the value after the command is used.
    assert tenancy("--context", "none-such", "list", *options).stdout == expected


def test_global_options_are_accepted_by_subcommands(platform: Platform, tenancy: Run, tmp_path: Path) -> None:
    plans = tmp_path / "plans.yaml"
    plans.write_text(SHIPPED_PLANS.read_text())
    options = ("--kubeconfig", str(platform.admin_kubeconfig))
    for arguments in (
        ("plans", *options, "impact", str(plans)),
        ("plans", "impact", str(plans), *options),
    ):
        result = tenancy(*arguments, KUBECONFIG="/nowhere")
        assert "compared with" in result.stdout, result.stderr


def test_no_cluster_is_one_line_on_standard_error(tenancy: Run) -> None:
    result = tenancy("list", KUBECONFIG="/nowhere")
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.startswith("error: no usable kubeconfig")


def test_a_wrong_command_line_is_an_error_and_no_change(tenancy: Run) -> None:
    for arguments in (("list", "--nonsense"), ("nonsense",), ("list", "-o", "nonsense")):
        result = tenancy(*arguments)
        assert result.returncode == 1, result.stdout
        assert "nonsense" in result.stderr


def test_crd_prints_what_is_installed(tenancy: Run) -> None:
    assert list(yaml.safe_load_all(tenancy("crd").stdout)) == crds()


def test_list_is_filtered_and_sorted(tenancy: Run) -> None:
    def names(*arguments: str) -> list[str]:
        rows = json.loads(tenancy("list", "-o", "json", *arguments).stdout)
        return [row["name"] for row in rows if row["name"] in (IDLE, BUSY, FAILED)]

    assert names() == [IDLE, BUSY, FAILED]
    assert names("--sort", "phase") == [FAILED, IDLE, BUSY]
    assert names("--sort", "cpu")[0] == names("--sort", "memory")[0] == BUSY
    assert names("--plan", "pro") == [IDLE]
    assert names("--phase", "failed") == [FAILED]
    assert tenancy("list", "--plan", "nobodys").stdout == "No tenants match.\n"


def test_names_are_printed_as_kubectl_prints_them(
    platform: Platform, tenancy: Run, tools: dict[str, Path]
) -> None:
    kubectl = [str(tools["kubectl"]), "--kubeconfig", str(platform.admin_kubeconfig), "get", "tn"]
    names = subprocess.run([*kubectl, IDLE, BUSY, "-o", "name"], capture_output=True, text=True, check=True)
    listed = tenancy("list", IDLE, BUSY, "-o", "name")
    assert (listed.returncode, listed.stdout) == (0, names.stdout)
    # Other commands accept these names as arguments.
    again = tenancy("list", *listed.stdout.split(), "-o", "name")
    assert (again.returncode, again.stdout) == (0, listed.stdout)


def test_list_selects_by_name_and_by_label(tenancy: Run) -> None:
    def names(*arguments: str) -> list[str]:
        return [row["name"] for row in json.loads(tenancy("list", "-o", "json", *arguments).stdout)]

    assert names("-l", "listed=yes") == [IDLE]
    assert names("--selector", "listed in (yes, no)") == [IDLE, BUSY]
    assert tenancy("list", "-l", "listed=maybe").stdout == "No tenants match.\n"
    result = tenancy("list", "-l", "listed=(")
    assert result.returncode == 1
    assert "unable to parse requirement" in result.stderr

    assert names(BUSY, IDLE) == [IDLE, BUSY]
    result = tenancy("list", IDLE, "nobody")
    assert result.returncode == 1
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["NAME", IDLE]
    assert result.stderr == "error: there is no tenant 'nobody'; run `tenancy list` to see all tenants\n"


def test_wide_list_has_more_columns(tenancy: Run) -> None:
    header, line = tenancy("list", FAILED, "-o", "wide").stdout.splitlines()
    assert header.split()[-6:] == ["AGE", "LAST", "UPDATE", "DISPLAY", "NAME", "MESSAGE"]
    assert line.endswith("there is no plan 'none-such'; known: basic, enterprise, pro")
    assert "UnknownPlan" in line


def test_shell_completes_names_of_tenants(platform: Platform, tenancy: Run) -> None:
    def completed(words: str, **environment: str) -> list[str]:
        position = str(words.count(" "))
        result = tenancy(
            _TENANCY_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=position, **environment
        )
        assert result.stderr == ""
        return result.stdout.split()

    for command in ("list", "show", "describe", "diff", "history", "rollback", "usage"):
        assert completed(f"tenancy {command} tab") == list(TABBED)
    for command in ("pause", "resume", "cordon", "uncordon", "delete"):
        assert completed(f"tenancy {command} tab") == list(TABBED)
    assert completed("tenancy pause --timeout 3 tabbed tab") == list(TABBED)
    for words in (
        "--kubeconfig {} show tabu",
        "show --kubeconfig {} tabu",
        "rollback --yes --kubeconfig={} tabu",
    ):
        command_line = f"tenancy {words.format(platform.admin_kubeconfig)}"
        assert completed(command_line, KUBECONFIG="/nowhere") == ["tabular"]
    assert completed("tenancy show tabbed tab") == []
    assert completed("tenancy show --pl") == ["--plans"]
    assert completed("tenancy show --output y") == ["yaml"]
    # Without a cluster, completion must not print an error, because the shell would show it in the command
    # line.
    assert completed("tenancy show tab", KUBECONFIG="/nowhere") == []

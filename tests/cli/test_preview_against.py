"""Previews that compare manifests with a git revision, without a cluster."""

import shutil
import subprocess

from tenancy.plans import SHIPPED_PLANS
from tests.cli.previews import Previews, offline_fixture, only_tenant, rules  # noqa: F401 - fixtures

_AGAINST = ("tenants", "--against", "main")


def test_only_what_changed_since_is_told(offline_previews: Previews) -> None:
    offline_previews.write("same")
    offline_previews.write("other", plan="basic")
    moved = offline_previews.write("moved")
    offline_previews.commit()
    assert offline_previews.json(*_AGAINST, exit_code=0)["summary"] == "No tenant changes, 3 unchanged"

    moved.rename(moved.with_name("elsewhere.yml"))
    offline_previews.write("other", plan="pro")
    offline_previews.write("fresh")
    preview = offline_previews.json(*_AGAINST)
    assert preview["base"] == "revision main"
    assert {tenant["name"]: tenant["outcome"] for tenant in preview["tenants"]} == {
        "fresh": "new",
        "moved": "unchanged",
        "other": "changed",
        "same": "unchanged",
    }


def test_plans_in_the_repository_are_taken_from_the_revision_too(offline_previews: Previews) -> None:
    offline_previews.write("planned")
    plans = offline_previews.folder / "plans.yaml"
    plans.write_text(SHIPPED_PLANS.read_text())
    offline_previews.commit()
    plans.write_text(SHIPPED_PLANS.read_text().replace("cpu: 500m", "cpu: 600m"))
    changes = only_tenant(offline_previews.json(*_AGAINST, "--plans", "plans.yaml"))["changes"]
    fields = [field for change in changes for field in change["fields"]]
    assert {"path": "spec.hard.cpu", "before": "500m", "after": "600m"} in fields
    offline_previews.json(*_AGAINST, exit_code=0)


def test_all_tenants_of_a_folder_that_is_gone_are_deleted(offline_previews: Previews) -> None:
    file = offline_previews.write("last")
    offline_previews.commit()
    file.unlink()
    file.parent.rmdir()
    preview = offline_previews.json(*_AGAINST)
    assert only_tenant(preview)["outcome"] == "deleted"
    assert preview["tenants"][0]["findings"][0]["file"] == "tenants/last.yaml"


def test_a_switch_that_no_object_shows_is_a_change(offline_previews: Previews) -> None:
    offline_previews.write("guarded", protected=True)
    offline_previews.commit()
    offline_previews.write("guarded", protected=False)
    preview = offline_previews.json(*_AGAINST)
    (change,) = only_tenant(preview)["changes"]
    assert (change["kind"], change["fields"]) == (
        "Tenant",
        [{"path": "spec.protected", "before": True, "after": False}],
    )
    assert rules(preview) == ["protection-removed"]


def test_a_document_that_can_not_be_read_deletes_nobody(offline_previews: Previews) -> None:
    offline_previews.write("torn")
    offline_previews.commit()
    offline_previews.write("torn", "kind: [Tenant\n")
    preview = offline_previews.json(*_AGAINST, exit_code=1)
    assert (preview["tenants"], rules(preview)) == ([], ["invalid-manifest"])
    assert preview["faults"][0]["line"] == 2


def test_what_was_invalid_counts_as_new(offline_previews: Previews) -> None:
    offline_previews.write("mended", plan="none-such")
    offline_previews.commit()
    offline_previews.write("mended")
    preview = offline_previews.json(*_AGAINST)
    assert only_tenant(preview)["outcome"] == "new"
    assert "none-such" in preview["notes"][0]


def test_no_such_revision_and_no_history_are_errors_that_say_so(offline_previews: Previews) -> None:
    offline_previews.write("any")
    result = offline_previews.run("preview", "tenants", "--against", "main")
    assert (result.returncode, result.stdout) == (1, "")
    assert "not a git repository" in result.stderr
    offline_previews.commit()
    for revision in ("none-such", "--output=x"):
        result = offline_previews.run("preview", "tenants", f"--against={revision}")
        assert result.returncode == 1
        assert "the clone does not contain the revision" in result.stderr
    assert "standard input has no git" in offline_previews.run("preview", "-", "--against", "main").stderr


def test_a_repository_hidden_among_the_manifests_is_not_asked(offline_previews: Previews) -> None:
    """The manifests contain a git repository.

    Its configuration would make git run a command to fetch a missing object.
    """
    offline_previews.write("real")
    offline_previews.commit()
    hidden, ran = offline_previews.folder / "tenants", offline_previews.folder / "ran"
    shutil.copytree(offline_previews.folder / ".git", hidden, dirs_exist_ok=True)
    blob = subprocess.run(
        ["git", "rev-parse", "main:tenants/real.yaml"],
        cwd=offline_previews.folder,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    (hidden / "objects" / blob[:2] / blob[2:]).unlink()
    (hidden / "config").write_text(
        "[core]\nrepositoryformatversion = 1\nbare = false\n"
        f'worktree = {hidden}\n[extensions]\npartialClone = origin\n[protocol "ext"]\nallow = always\n'
        f'[remote "origin"]\npromisor = true\nurl = ext::touch {ran}\n'
    )
    result = offline_previews.run("preview", *_AGAINST)
    assert not ran.exists()
    assert (result.returncode, "safe.bareRepository" in result.stderr) == (1, True)


def test_a_path_like_an_option_is_a_path(offline_previews: Previews) -> None:
    offline_previews.write("plain").parent.rename(offline_previews.folder / "-d")
    offline_previews.commit()
    result = offline_previews.run("preview", "--against", "main", "--", "-d")
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.startswith("No tenant changes, 1 unchanged")

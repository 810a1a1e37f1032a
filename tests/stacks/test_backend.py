"""Backend URLs, and stacks in a file backend."""

from pathlib import Path

import pytest

from stacks.backend import backend_url, create_stack_in_file_backend, is_passphrase_backend


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("file:///var/state", "file:///var/state?metadata=skip"),
        ("file:///var/state?no_tmp_dir=true", "file:///var/state?no_tmp_dir=true"),
        ("file:///with%20space", "file:///with%20space?metadata=skip"),
        ("s3://bucket/path", "s3://bucket/path"),
        ("postgres://u:p@h/db", "postgres://u:p@h/db"),
    ],
)
def test_url_is_used_as_given_or_made_absolute(url: str, expected: str) -> None:
    assert backend_url(url) == expected


def test_relative_file_urls_mean_the_folder_the_watcher_was_started_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/joe")
    assert backend_url("file://./state") == f"file://{tmp_path}/state?metadata=skip"
    assert backend_url("file://~/state") == "file:///home/joe/state?metadata=skip"
    assert backend_url("file://~") == "file:///home/joe?metadata=skip"


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_existing_state_is_never_overwritten(suffix: str, tmp_path: Path) -> None:
    folder = tmp_path / ".pulumi" / "stacks" / "tenancy"
    folder.mkdir(parents=True)
    (tmp_path / ".pulumi" / "meta.yaml").write_text("version: 1")
    (folder / f"tenant-x.json{suffix}").write_text("precious")
    create_stack_in_file_backend(f"file://{tmp_path}", "tenant-x")
    assert [entry.name for entry in folder.iterdir()] == [f"tenant-x.json{suffix}"]


def test_only_the_service_keeps_keys_of_its_own() -> None:
    assert is_passphrase_backend("s3://bucket")
    assert not is_passphrase_backend("https://api.example")

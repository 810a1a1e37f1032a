"""The URLs of state backends, and the creation of stacks in a file backend."""

import subprocess
import sys
from pathlib import Path

import pytest

from stacks.backend import backend_url, create_stack_in_file_backend
from stacks.errors import StackError
from tests.platform import ROOT


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("file:///var/state", "file:///var/state?metadata=skip"),
        ("file:///var/state?no_tmp_dir=true", "file:///var/state?no_tmp_dir=true"),
        ("file:///with%20space", "file:///with%20space?metadata=skip"),
        ("s3://bucket/path", "s3://bucket/path"),
        (
            "s3://b?endpoint=minio:9000&disableSSL=true",
            "s3://b?endpoint=http%3A%2F%2Fminio%3A9000&disable_https=true&request_checksum_calculation=when_required",
        ),
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


_ON_A_FULL_DISK = """
import resource, sys
from stacks.backend import create_stack_in_file_backend
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
for _ in range(2):
    try:
        create_stack_in_file_backend(sys.argv[1], "tenant-x")
    except OSError:
        continue
    sys.exit("written")
"""


def test_full_disk_leaves_no_temporary_files(tmp_path: Path) -> None:
    """The size limit for files makes each write fail, as on a full disk."""
    folder = tmp_path / ".pulumi"
    folder.mkdir()
    (folder / "meta.yaml").write_text("version: 1")
    subprocess.run([sys.executable, "-c", _ON_A_FULL_DISK, f"file://{tmp_path}"], check=True, cwd=ROOT)
    assert [entry.name for entry in folder.rglob("*") if entry.is_file()] == ["meta.yaml"]


@pytest.mark.parametrize(
    "url", ["gs://bucket", "azblob://bucket", "https://api.example", "postgresql://h/d", "/state"]
)
def test_other_backends_are_refused_with_the_supported_ones(url: str) -> None:
    with pytest.raises(StackError, match=r"not supported; use one of file://.*, s3://.*, postgres://"):
        backend_url(url)

"""`./dev` downloads releases of tools. In these tests, a local server publishes the files."""

import hashlib
import io
import socket
import tarfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from embedded.toolchain import release
from embedded.toolchain.release import MIRROR_VARIABLE, Asset, Releases, checksum_in, release_asset
from embedded.toolchain.tools import TOOLS, Tool

MACHINE = ("linux", "amd64")
ETCD, KUBECTL, PULUMI = TOOLS["etcd"], TOOLS["kubectl"], TOOLS["pulumi"]
HOST, PROVIDER = TOOLS["pulumi-language-python"], TOOLS["pulumi-resource-kubernetes"]


class Mirror:
    """The published files, keyed by URL path, and the paths that clients have requested."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.truncated: set[str] = set()
        self.requested: list[str] = []

    def publish(self, asset: Asset, content: bytes, checksum: str | None = None) -> None:
        checksum = checksum or hashlib.sha256(content).hexdigest()
        other = f"{'0' * 64}  another-file.tar.gz\n"
        self.files[asset.address] = content
        self.files[asset.checksums_address] = f"{other}{checksum}  {asset.name}\n".encode()


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> Iterator[Mirror]:
    published = Mirror()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            address = self.path.removeprefix("/mirror/")
            published.requested.append(address)
            content = published.files.get(address)
            self.send_response(404 if content is None else 200)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write((content or b"")[: -1 if address in published.truncated else None])

        def log_message(self, *_: object) -> None:
            """Do not log requests."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setenv(MIRROR_VARIABLE, f"http://127.0.0.1:{server.server_port}/mirror/")
    monkeypatch.setattr(release, "machine", lambda: MACHINE)
    yield published
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "filled"
    folder.mkdir()
    return folder


def asset(tool: Tool, system: str = "linux") -> Asset:
    published_asset = release_asset(tool, system, "amd64")
    assert published_asset
    return published_asset


def tarball(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def fetch(tool: Tool, folder: Path) -> bool:
    with Releases() as releases:
        return releases.fetch(tool, folder)


def test_binary_with_the_published_checksum_is_used(mirror: Mirror, folder: Path) -> None:
    mirror.publish(asset(KUBECTL), b"the binary")
    assert fetch(KUBECTL, folder)
    assert (folder / "kubectl").read_bytes() == b"the binary"
    assert (folder / "kubectl").stat().st_mode & 0o111 == 0o111


def test_only_the_tool_is_taken_out_of_an_archive(mirror: Mirror, folder: Path) -> None:
    inside = f"etcd-v{ETCD.version}-linux-amd64"
    archive = tarball({f"{inside}/etcd": b"etcd", f"{inside}/etcdctl": b"no", "../outside": b"no"})
    mirror.publish(asset(ETCD), archive)
    assert fetch(ETCD, folder)
    assert [(path.name, path.read_bytes()) for path in folder.iterdir()] == [("etcd", b"etcd")]
    assert not (folder.parent / "outside").exists()


def test_tool_is_taken_out_of_a_zip(mirror: Mirror, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "machine", lambda: ("darwin", "amd64"))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(f"etcd-v{ETCD.version}-darwin-amd64/etcd", b"etcd")
    mirror.publish(asset(ETCD, "darwin"), buffer.getvalue())
    assert fetch(ETCD, folder)
    assert (folder / "etcd").read_bytes() == b"etcd"


def test_archive_that_holds_two_tools_is_fetched_once(mirror: Mirror, folder: Path) -> None:
    files = {f"pulumi/{name}": name.encode() for name in (*PULUMI.files, *HOST.files)}
    mirror.publish(asset(PULUMI), tarball(files))
    with Releases() as releases:
        assert releases.fetch(PULUMI, folder)
        assert releases.fetch(HOST, folder)
    assert sorted(path.name for path in folder.iterdir()) == sorted((*PULUMI.files, *HOST.files))
    assert len(mirror.requested) == 2


def test_wrong_checksum_is_said_loudly_and_never_used(
    mirror: Mirror, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mirror.publish(asset(KUBECTL), b"not what was published", checksum="1" * 64)
    assert not fetch(KUBECTL, folder)
    assert not list(folder.iterdir())
    assert "WRONG CHECKSUM" in capsys.readouterr().err


def test_truncated_file_is_not_used(mirror: Mirror, folder: Path) -> None:
    mirror.publish(asset(KUBECTL), b"the binary")
    mirror.truncated.add(asset(KUBECTL).address)
    assert not fetch(KUBECTL, folder)
    assert not list(folder.iterdir())


@pytest.mark.parametrize("content", [tarball({"pulumi-resource-other": b"no"}), b"no archive at all"])
def test_archive_without_the_tool_leaves_nothing(mirror: Mirror, folder: Path, content: bytes) -> None:
    mirror.publish(asset(PROVIDER), content)
    assert not fetch(PROVIDER, folder)
    assert not list(folder.iterdir())


def test_file_without_a_published_checksum_is_not_even_fetched(mirror: Mirror, folder: Path) -> None:
    mirror.files[asset(ETCD).address] = b"an archive"
    mirror.files[asset(ETCD).checksums_address] = b"<html>\nPlease log in\n</html>"
    assert not fetch(ETCD, folder)
    assert mirror.requested == [asset(ETCD).checksums_address]


def test_release_that_is_not_published_does_not_stop_the_others(mirror: Mirror, folder: Path) -> None:
    mirror.publish(asset(KUBECTL), b"the binary")
    with Releases() as releases:
        assert not releases.fetch(ETCD, folder)
        assert releases.fetch(KUBECTL, folder)


def test_server_out_of_reach_is_asked_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setenv(MIRROR_VARIABLE, f"http://127.0.0.1:{unused.getsockname()[1]}")
        with Releases() as releases:
            assert not any(releases.fetch(tool, folder) for tool in TOOLS.values())
    assert capsys.readouterr().err.count("Releases are not reachable") == 1


def test_kubernetes_publishes_no_server_for_macos() -> None:
    assert release_asset(TOOLS["kube-apiserver"], "darwin", "arm64") is None
    assert release_asset(KUBECTL, "darwin", "arm64")


@pytest.mark.parametrize(
    "text", [f"{'A' * 64}", f"{'a' * 64} *tool.zip\n", f"{'b' * 64}  other.zip\n{'a' * 64}  tool.zip\n"]
)
def test_checksum_is_read_in_each_published_form(text: str) -> None:
    assert checksum_in(text, "tool.zip") == "a" * 64

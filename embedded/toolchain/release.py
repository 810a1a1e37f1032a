"""Downloads official releases of the tools, and verifies them with the published checksums.

`Releases.fetch` returns False if it cannot get a release. It does not retry downloads.
"""

import hashlib
import os
import re
import shutil
import sys
import tarfile
import tempfile
import zipfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import requests

from embedded.progress import Progress
from embedded.toolchain.tools import Tool, machine

MIRROR_VARIABLE = "TENANCY_RELEASE_MIRROR"

_CONNECT_TIMEOUT_S = 2
_READ_TIMEOUT_S = 30
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class Asset:
    """One published file of a release: an archive or a binary.

    `address` is the URL of the file, and `checksums_address` is the URL of its checksum. Both are without
    `https://`. The function `_url` puts `https://` or the URL of a mirror in front.
    """

    address: str
    checksums_address: str
    # The folder in the archive that contains the tool's files. None if the published file is the binary.
    folder: str | None

    @property
    def name(self) -> str:
        return self.address.rpartition("/")[2]


def release_asset(tool: Tool, system: str, arch: str) -> Asset | None:
    """The published file that contains the tool for an operating system and an architecture.

    None if the file or its checksum is not published.
    """
    name, tag = tool.name, f"v{tool.version}"
    if name == "etcd":
        base, stem = f"github.com/etcd-io/etcd/releases/download/{tag}", f"etcd-{tag}-{system}-{arch}"
        suffix = "zip" if system == "darwin" else "tar.gz"
        return Asset(f"{base}/{stem}.{suffix}", f"{base}/SHA256SUMS", f"{stem}/")
    if name in ("pulumi", "pulumi-language-python"):
        base = f"github.com/pulumi/pulumi/releases/download/{tag}"
        archive = f"pulumi-{tag}-{system}-{'x64' if arch == 'amd64' else arch}.tar.gz"
        return Asset(f"{base}/{archive}", f"{base}/pulumi-{tool.version}-checksums.txt", "pulumi/")
    if name == "pulumi-resource-kubernetes":
        base = f"github.com/pulumi/pulumi-kubernetes/releases/download/{tag}"
        checksums = f"{base}/pulumi-kubernetes_{tool.version}_checksums.txt"
        return Asset(f"{base}/{name}-{tag}-{system}-{arch}.tar.gz", checksums, "")
    if name == "kubectl" or (name.startswith("kube-") and system == "linux"):
        address = f"dl.k8s.io/release/{tag}/bin/{system}/{arch}/{name}"
        return Asset(address, f"{address}.sha256", None)
    # KWOK publishes binaries without checksums.
    return None


def checksum_in(text: str, file_name: str) -> str | None:
    """Find the SHA-256 of the file `file_name` in a list of checksums. None if the list has no such file.

    If a line has no file name, its checksum applies to `file_name`.
    """
    for words in map(str.split, text.splitlines()):
        if words and re.fullmatch(r"[0-9a-fA-F]{64}", words[0]):
            listed_name = words[1].lstrip("*") if len(words) > 1 else file_name
            if listed_name == file_name:
                return words[0].lower()
    return None


class Releases:
    """Downloads releases. Each published file is downloaded only once, even if it contains several tools.

    The checksum of a file is downloaded before the file. If the server of a checksum cannot be reached,
    nothing more is downloaded.
    """

    def __init__(self) -> None:
        self._is_reachable = True
        self._downloads: dict[Asset, Path | None] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="tenancy-releases-")
        self._http = requests.Session()
        # Request an uncompressed response. `requests` would decompress a compressed response, and the result
        # could differ from the published file. Then the checksum would be wrong.
        self._http.headers["Accept-Encoding"] = "identity"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()
        self._folder.cleanup()

    def fetch(self, tool: Tool, folder: Path) -> bool:
        """Download the tool, write its files to the folder, and return True.

        If there is no usable release, returns False. The folder then contains no files of the tool.
        """
        asset = release_asset(tool, *machine())
        if asset is None:
            return False
        if asset not in self._downloads:
            self._downloads[asset] = self._download(asset)
        download = self._downloads[asset]
        if download is None:
            return False
        try:
            _unpack(download, asset, tool, folder)
        except (KeyError, OSError, tarfile.TarError, zipfile.BadZipFile) as error:
            print(
                f"{asset.name} cannot be unpacked ({error}). {tool.name} is built instead.",
                file=sys.stderr,
            )
            for name in tool.files:
                (folder / name).unlink(missing_ok=True)
            return False
        return True

    def _download(self, asset: Asset) -> Path | None:
        checksum = self._published_checksum(asset)
        if checksum is None:
            return None
        target = Path(self._folder.name) / str(len(self._downloads))
        try:
            actual = self._save(asset, target)
        except requests.RequestException as error:
            print(f"The download of {asset.name} failed ({type(error).__name__}).", file=sys.stderr)
            return None
        if actual != checksum:
            print(
                f"WRONG CHECKSUM: {_url(asset.address)} has SHA-256 {actual}, but the published checksum is"
                f" {checksum}.\nThe file is not used. If you do not use a mirror or proxy, report this to the"
                " project that publishes the file.",
                file=sys.stderr,
            )
            return None
        return target

    def _published_checksum(self, asset: Asset) -> str | None:
        if not self._is_reachable:
            return None
        url = _url(asset.checksums_address)
        try:
            response = self._http.get(url, timeout=(_CONNECT_TIMEOUT_S, _READ_TIMEOUT_S))
        except requests.RequestException:
            self._is_reachable = False
            print(f"Releases are not reachable: cannot connect to {url.split('/')[2]}.", file=sys.stderr)
            return None
        return checksum_in(response.text, asset.name) if response.ok else None

    def _save(self, asset: Asset, target: Path) -> str:
        """Download the file to `target`, show the progress on stderr, and return the SHA-256 of the file."""
        digest = hashlib.sha256()
        timeout = (_CONNECT_TIMEOUT_S, _READ_TIMEOUT_S)
        with (
            Progress(f"Downloading {asset.name}") as progress,
            target.open("wb") as file,
            closing(self._http.get(_url(asset.address), stream=True, timeout=timeout)) as response,
        ):
            response.raise_for_status()
            total_mb = int(response.headers.get("Content-Length", 0)) >> 20
            for chunk in response.iter_content(_CHUNK_BYTES):
                file.write(chunk)
                digest.update(chunk)
                progress.detail = f"{file.tell() >> 20} of {total_mb} MB"
        return digest.hexdigest()


def _url(address: str) -> str:
    mirror = os.environ.get(MIRROR_VARIABLE, "").rstrip("/")
    return f"{mirror}/{address}" if mirror else f"https://{address}"


def _unpack(download: Path, asset: Asset, tool: Tool, folder: Path) -> None:
    """Write the tool's files to the folder. Other files in the archive are ignored."""
    if asset.folder is None:
        _write(download.open("rb"), folder / tool.name)
    elif asset.name.endswith(".zip"):
        with zipfile.ZipFile(download) as archive:
            for name in tool.files:
                _write(archive.open(asset.folder + name), folder / name)
    else:
        with tarfile.open(download) as archive_tar:
            for name in tool.files:
                member = archive_tar.extractfile(asset.folder + name)
                if member is None:
                    raise KeyError(f"{name} is not a file")
                _write(member, folder / name)


def _write(source: IO[bytes], target: Path) -> None:
    with source, target.open("wb") as file:
        shutil.copyfileobj(source, file)
    target.chmod(0o755)

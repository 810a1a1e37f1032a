"""The official releases: fetched from where each project publishes them, used only if the checksum agrees.

Called by the resolver for a tool that is not on the machine. Where no release is to be had, for whatever
reason, the answer is no and the resolver builds the tool instead. Nothing is retried.
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
    """One published file. Addresses have no scheme, so that a mirror's address can go in front."""

    address: str
    checksums_address: str
    # The folder in the archive that holds the tool's files; None where the file is the tool itself.
    folder: str | None

    @property
    def name(self) -> str:
        return self.address.rpartition("/")[2]


def asset_of(tool: Tool, system: str, arch: str) -> Asset | None:
    """Where a tool's release is published; None where its project publishes none for this machine."""
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
    # KWOK publishes binaries, but no checksums to hold them against.
    return None


def checksum_in(text: str, file_name: str) -> str | None:
    """The SHA-256 of a file in a published list, or in a file that holds nothing but the sum."""
    for words in map(str.split, text.splitlines()):
        if words and re.fullmatch(r"[0-9a-fA-F]{64}", words[0]):
            listed = words[1].lstrip("*") if len(words) > 1 else file_name
            if listed == file_name:
                return words[0].lower()
    return None


class Releases:
    """The releases in one run: a host out of reach is not asked again, an archive is fetched once."""

    def __init__(self) -> None:
        self._is_in_reach = True
        self._downloads: dict[Asset, Path | None] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="tenancy-releases-")
        self._session = requests.Session()
        # A compressed transfer would be unpacked on the way, and the checksum is of the packed file.
        self._session.headers["Accept-Encoding"] = "identity"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._session.close()
        self._folder.cleanup()

    def fetch(self, tool: Tool, folder: Path) -> bool:
        """Put the tool's files into the folder, or leave it as it is and return False."""
        asset = asset_of(tool, *machine())
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
            print(f"{asset.name} cannot be unpacked ({error}); building instead.", file=sys.stderr)
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
            print(f"{asset.name} did not arrive whole ({type(error).__name__}).", file=sys.stderr)
            return None
        if actual != checksum:
            print(
                f"WRONG CHECKSUM: {_url(asset.address)} has SHA-256 {actual}, published is {checksum}."
                "\nThe file is not used. If you expect no mirror or proxy in between, report this.",
                file=sys.stderr,
            )
            return None
        return target

    def _published_checksum(self, asset: Asset) -> str | None:
        if not self._is_in_reach:
            return None
        url = _url(asset.checksums_address)
        try:
            answer = self._session.get(url, timeout=(_CONNECT_TIMEOUT_S, _READ_TIMEOUT_S))
        except requests.RequestException:
            self._is_in_reach = False
            print(f"No release is in reach: {url.split('/')[2]} does not answer.", file=sys.stderr)
            return None
        return checksum_in(answer.text, asset.name) if answer.ok else None

    def _save(self, asset: Asset, target: Path) -> str:
        digest = hashlib.sha256()
        timeout = (_CONNECT_TIMEOUT_S, _READ_TIMEOUT_S)
        with (
            Progress(f"Downloading {asset.name}") as progress,
            target.open("wb") as file,
            closing(self._session.get(_url(asset.address), stream=True, timeout=timeout)) as answer,
        ):
            answer.raise_for_status()
            total_mb = int(answer.headers.get("Content-Length", 0)) >> 20
            for chunk in answer.iter_content(_CHUNK_BYTES):
                file.write(chunk)
                digest.update(chunk)
                progress.detail = f"{file.tell() >> 20} of {total_mb} MB"
        return digest.hexdigest()


def _url(address: str) -> str:
    mirror = os.environ.get(MIRROR_VARIABLE, "").rstrip("/")
    return f"{mirror}/{address}" if mirror else f"https://{address}"


def _unpack(download: Path, asset: Asset, tool: Tool, folder: Path) -> None:
    """Take the tool's files, by name, and nothing else: no other path in an archive is ever written."""
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

"""State backends for tests: a folder, an S3 bucket and a PostgreSQL table, each on a server of this run."""

import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from embedded.controlplane.loopback import HOST
from tests.serving import serving

_KEY_ID = "canary-of-the-s3-key-id"
_KEY = "canary-of-the-s3-key"
_PASSWORD = "canary-of-the-database-password"
_USER = "tenancy"
_BUCKET = "states"


class Scheme(StrEnum):
    FILE = "file"
    S3 = "s3"
    POSTGRES = "postgres"


@dataclass(frozen=True)
class StateBackend:
    """An empty state backend. `environment` contains its credentials."""

    scheme: Scheme
    url: str
    environment: dict[str, str]


@dataclass(frozen=True)
class StateServers:
    """An S3 server and a PostgreSQL server. `programs` is the folder of PostgreSQL's programs."""

    s3_port: int
    postgres_port: int
    programs: Path

    def new(self, scheme: Scheme, folder: Path) -> StateBackend:
        """Create an empty backend. A file backend is in `folder`."""
        name = f"state{secrets.token_hex(4)}"
        if scheme is Scheme.FILE:
            (folder / name).mkdir()
            return StateBackend(scheme, f"file://{folder / name}", {})
        if scheme is Scheme.S3:
            query = f"region=us-east-1&endpoint=http://{HOST}:{self.s3_port}&s3ForcePathStyle=true"
            keys = {"AWS_ACCESS_KEY_ID": _KEY_ID, "AWS_SECRET_ACCESS_KEY": _KEY}
            return StateBackend(scheme, f"s3://{_BUCKET}/{name}?{query}", keys)
        address = f"{_USER}@{HOST}:{self.postgres_port}/postgres"
        url = f"postgres://{address}?sslmode=disable&table={name}"
        return StateBackend(scheme, url, {"PGPASSWORD": _PASSWORD})


@contextmanager
def state_servers(rclone: Path, programs: Path, folder: Path) -> Iterator[StateServers]:
    """Run an S3 server and a PostgreSQL server until the `with` block ends."""
    buckets = folder / "buckets"
    (buckets / _BUCKET).mkdir(parents=True)
    with _s3(rclone, buckets, folder) as s3_port, _postgres(programs, folder) as postgres_port:
        yield StateServers(s3_port, postgres_port, programs)


@contextmanager
def _s3(rclone: Path, buckets: Path, folder: Path) -> Iterator[int]:
    def command(ports: list[int]) -> Sequence[str | Path]:
        address = ("--addr", f"{HOST}:{ports[0]}", "--auth-key", f"{_KEY_ID},{_KEY}")
        return [rclone, "serve", "s3", buckets, *address, "--config", os.devnull]

    with serving("s3", command, _is_listening, folder) as server:
        yield server.ports[0]


@contextmanager
def _postgres(programs: Path, folder: Path) -> Iterator[int]:
    # PostgreSQL refuses to run as root. Another user cannot enter the temporary folder of the tests.
    data = Path(tempfile.mkdtemp(prefix="tenancy-postgres-"))
    as_user: list[str] = []
    if os.geteuid() == 0:
        user = pwd.getpwnam("nobody")
        os.chown(data, user.pw_uid, user.pw_gid)
        as_user = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    password = data / "password"
    password.write_text(_PASSWORD)
    password.chmod(0o644)
    try:
        folder_and_user = ["--pgdata", str(data / "data"), "--username", _USER]
        options = ["--auth", "scram-sha-256", f"--pwfile={password}", "--no-sync"]
        initialize = [*as_user, str(programs / "initdb"), *folder_and_user, *options]
        subprocess.run(initialize, check=True, capture_output=True, cwd=data)

        def command(ports: list[int]) -> Sequence[str | Path]:
            settings = ("unix_socket_directories=", "fsync=off", f"listen_addresses={HOST}")
            flags = [word for setting in settings for word in ("-c", setting)]
            return [*as_user, programs / "postgres", "-D", data / "data", "-p", str(ports[0]), *flags]

        with serving("postgres", command, _is_listening, folder) as server:
            yield server.ports[0]
    finally:
        shutil.rmtree(data, ignore_errors=True)


def _is_listening(ports: list[int]) -> bool:
    try:
        with socket.create_connection((HOST, ports[0]), timeout=5):
            return True
    except OSError:
        return False

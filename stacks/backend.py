"""The URLs of Pulumi's state backends, and direct access to file backends.

A file backend stores stacks as files. This module creates an empty stack by writing its file, which is faster
than a CLI process. `stacks.storage.history_files` reads the history of a stack from the files. Other backends
are accessed only through the CLI and the engine.
"""

import gzip
import json
import os
import tempfile
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from stacks.errors import StackError
from tenancy.base.names import PROJECT
from tenancy.base.platform_names import unsupported_backend

# The endings of the compressed files in a file backend.
COMPRESSED: Final = (".gz", ".zst")


def backend_url(url: str) -> str:
    """Convert the URL of a backend to the form for the CLI and the engine.

    The path of a file backend becomes absolute, because each command runs in its own folder. A URL of a file
    backend without a query gets the query `metadata=skip`. Without this query, the backend would write an
    additional `.attrs` file for each file. In the URL of an S3 backend, parameters get their current names
    and forms. Raises StackError if the backend is not supported.
    """
    if problem := unsupported_backend(url):
        raise StackError(problem)
    parts = urlsplit(url)
    if parts.scheme == "s3":
        return urlunsplit(parts._replace(query=_s3_query(parts.query)))
    if parts.scheme != "file":
        return url
    path = Path(unquote(parts.netloc + parts.path)).expanduser().absolute()
    return f"file://{quote(str(path))}?{parts.query or 'metadata=skip'}"


def _s3_query(query: str) -> str:
    """Convert the parameters of an S3 backend as the CLI does. The engine accepts only the new forms.

    `disableSSL` is the old name of `disable_https`, and an endpoint needs a scheme. Servers of other vendors
    than AWS may reject the checksums that are sent by default.
    """
    parameters = dict(parse_qsl(query, keep_blank_values=True))
    if "disableSSL" in parameters:
        parameters["disable_https"] = parameters.pop("disableSSL")
    if endpoint := parameters.get("endpoint"):
        is_plain = parameters.get("disable_https", "").lower() in ("1", "t", "true")
        if "://" not in endpoint:
            parameters["endpoint"] = f"{'http' if is_plain else 'https'}://{endpoint}"
        if "AWS_REQUEST_CHECKSUM_CALCULATION" not in os.environ:
            parameters.setdefault("request_checksum_calculation", "when_required")
    return urlencode(parameters)


def backend_environment(url: str) -> dict[str, str]:
    """The environment variables with which Pulumi uses the backend. `url` is a result of `backend_url`."""
    environment = {"PULUMI_BACKEND_URL": url}
    if urlsplit(url).scheme == "postgres":
        # Each list of objects needs two database connections of a small pool. Several lists at a time take
        # one connection each, and wait for the second one forever.
        environment["PULUMI_DIY_BACKEND_PARALLEL"] = "1"
    return environment


def create_stack_in_file_backend(url: str, stack: str) -> None:
    """Create an empty stack in a file backend, without the CLI.

    Do nothing if the stack exists, if the backend is not a file backend, or if the CLI has not initialized
    the backend yet.
    """
    folder = file_backend_folder(url)
    if folder is None or not (folder / "meta.yaml").exists():
        return  # The CLI must create the first stack, because it also writes the backend's metadata.
    if stack_exists(folder, stack):
        return
    # With another ending, the first update would have to replace the file with a compressed file.
    checkpoint = folder / "stacks" / PROJECT / f"{stack}.json.gz"
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    empty = {"version": 3, "checkpoint": {"stack": f"organization/{PROJECT}/{stack}", "latest": None}}
    replace_file(checkpoint, gzip.compress(json.dumps(empty).encode()), folder)


def replace_file(path: Path, content: bytes, folder: Path) -> None:
    """Write a file atomically: other processes never read incomplete content.

    The content is written to a temporary file in `folder`, which is then renamed to `path`. If this fails,
    for example because the disk is full, the temporary file is removed, and OSError is raised.
    """
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=f"{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def file_backend_folder(url: str) -> Path | None:
    """The folder in which a file backend stores its files. None for other backends."""
    parts = urlsplit(url)
    return Path(unquote(parts.path)) / ".pulumi" if parts.scheme == "file" else None


def stack_exists(folder: Path, stack: str) -> bool:
    """Whether a file backend contains the stack. `folder` is the result of `file_backend_folder`."""
    return any(
        (folder / "stacks" / PROJECT / f"{stack}.json{suffix}").exists() for suffix in ("", *COMPRESSED)
    )

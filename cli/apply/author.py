"""Writes a Tenant together with the author annotation, which names the user who wrote the spec."""

from collections.abc import Callable
from typing import Annotated, Final

import typer

from cli.rights.permissions import user_name
from cluster.client import Cluster
from tenancy.base.errors import TenancyError
from tenancy.base.kinds import kind_of
from tenancy.base.labels import SPEC_AUTHOR_ANNOTATION
from tenancy.base.manifest import Manifest
from tenancy.history.spec_author import MESSAGE_MAX_LENGTH, author_annotation

MessageOption = Annotated[
    str,
    typer.Option(
        "--message",
        "-m",
        metavar="TEXT",
        help="A message that describes the change. `tenancy history` shows it.",
    ),
]

# A function that sends a write request. Its arguments are the annotation (empty for none), and whether the
# request is a dry run.
Send = Callable[[str, bool], Manifest]

_NO_USER: Final = "the API server does not return your user name (SelfSubjectReview)"


class MessageRefused(TenancyError):
    """The value of `--message` cannot be stored. Nothing was changed."""

    reason = "MessageRefused"


class Author:
    """The user who runs the command, and the message of the option `--message` for the history."""

    def __init__(self, cluster: Cluster, message: str = "") -> None:
        """Raises MessageRefused if the message is too long.

        Also raises MessageRefused if there is a message, but the API server does not return the user name.
        """
        self._user = user_name(cluster)
        self._message = message.strip()
        if len(self._message) > MESSAGE_MAX_LENGTH:
            raise MessageRefused(f"--message: the message must have at most {MESSAGE_MAX_LENGTH} characters")
        if self._message and not self._user:
            raise MessageRefused(f"--message: the message cannot be stored, because {_NO_USER}")

    def write(self, cluster: Cluster, manifest: Manifest, send: Send) -> Manifest:
        """Write the spec and the author annotation, and return the new Tenant.

        `manifest` identifies the Tenant. `send` sends the write request. The method first calls `send` for a
        dry run, to get the new spec and its generation. Then it calls `send` again, to write the Tenant. If
        the request does not change the spec, the live annotation stays unchanged.
        """
        live = cluster.get(kind_of(manifest), manifest["metadata"]["name"])
        predicted = send("", True)
        if live is not None and predicted["metadata"]["generation"] == live["metadata"]["generation"]:
            return send(_annotation(live), False)
        return send(author_annotation(predicted, self._user, self._message), False)


def with_annotation(manifest: Manifest, annotation: str) -> Manifest:
    """A copy of the manifest with this value of the author annotation.

    If `annotation` is empty, the copy has no author annotation.
    """
    metadata = manifest["metadata"]
    annotations = {
        key: value
        for key, value in (metadata.get("annotations") or {}).items()
        if key != SPEC_AUTHOR_ANNOTATION
    }
    if annotation:
        annotations[SPEC_AUTHOR_ANNOTATION] = annotation
    others = {field: value for field, value in metadata.items() if field != "annotations"}
    return {**manifest, "metadata": others | ({"annotations": annotations} if annotations else {})}


def _annotation(tenant: Manifest) -> str:
    value: str = (tenant["metadata"].get("annotations") or {}).get(SPEC_AUTHOR_ANNOTATION, "")
    return value

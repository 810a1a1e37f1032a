"""Reads the author of a Tenant's spec from an annotation, which an admission policy checks. No I/O.

The commands of `tenancy` write the annotation together with the spec. The annotation contains:

- the generation of the Tenant after the write
- the uid of the Tenant
- a hash of the spec
- the user name of the writer
- a message

The admission policy `tenancy-spec-author` ensures that an annotation with the current generation names the
sender of the request. It also rejects annotations with a later generation. The platform ignores annotations
with an earlier generation, for example after somebody restores a backup.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tenancy.base.labels import CHANGE_ANNOTATIONS, SPEC_AUTHOR_ANNOTATION
from tenancy.base.manifest import Manifest
from tenancy.history.spec_writer import spec_writer
from tenancy.spec.tenant_status import SpecChange

MESSAGE_MAX_LENGTH: Final = 1000
# Separates the generation, the uid, the hash and the user name.
SEPARATOR: Final = ":"
# Separates the user name and the message.
MESSAGE_SEPARATOR: Final = "\n"
# The generation: a positive number without leading zeros that fits into 64 bits.
GENERATION_PATTERN: Final = "[1-9][0-9]{0,17}"
# Replaces the hash in annotations that the MutatingAdmissionPolicy writes, because CEL has no hash function.
NO_HASH: Final = "-"


@dataclass(frozen=True)
class SpecAuthor:
    """The content of the annotation.

    `uid` is empty for generation 1, because the author does not know the uid before the Tenant is created.
    """

    generation: int
    uid: str
    spec_hash: str
    user: str
    message: str = ""

    def __str__(self) -> str:
        fields = (str(self.generation), self.uid, self.spec_hash, self.user)
        message = f"{MESSAGE_SEPARATOR}{self.message}" if self.message else ""
        return SEPARATOR.join(fields) + message


def author_annotation(tenant: Manifest, user: str, message: str = "") -> str:
    """The value of the annotation that names `user` as the author of the spec.

    `tenant` is the Tenant that the API server returns for a dry run of the write. The result is empty if the
    user name is empty or contains a line break.
    """
    if not user or MESSAGE_SEPARATOR in user:
        return ""
    metadata = tenant["metadata"]
    generation = metadata["generation"]
    uid = metadata["uid"] if generation > 1 else ""
    return str(SpecAuthor(generation, uid, spec_hash(tenant["spec"]), user, message))


def spec_author(tenant: Manifest, previous: Manifest | None = None) -> SpecAuthor | None:
    """The author of the Tenant's current spec. None if there is no valid annotation for this spec.

    `previous` is the Tenant before the last change to the spec. If `previous` already has the annotation, the
    annotation was not written together with the spec, and the result is None. The admission policy prevents
    this case, but not every cluster has this policy.
    """
    metadata, annotation = tenant["metadata"], _annotation(tenant)
    author = _parsed(annotation)
    if author is None or author.generation != metadata["generation"]:
        return None
    if previous is not None and _annotation(previous) == annotation:
        return None
    is_same_object = author.uid == metadata["uid"] if author.generation > 1 else author.uid == ""
    is_same_spec = author.spec_hash in (NO_HASH, spec_hash(tenant.get("spec") or {}))
    return author if is_same_object and is_same_spec else None


def spec_change(
    tenant: Manifest, before: SpecChange | None, now: str, previous: Manifest | None = None
) -> SpecChange:
    """The change to the spec that led to the Tenant's current generation: author, time and message.

    `before` is the previous known change. `previous` is the Tenant before this change. `now` is the time of
    the change if the managedFields contain no time. A GitOps tool can apply annotations about the commit
    together with the spec. If these annotations are the same as in `before`, the GitOps tool did not make
    this change, and the result has no commit.
    """
    metadata, author = tenant["metadata"], spec_author(tenant, previous)
    annotations: Mapping[str, str] = metadata.get("annotations") or {}
    claims = [annotations.get(key, "")[:MESSAGE_MAX_LENGTH] for key in CHANGE_ANNOTATIONS]
    digest = _digest(claims) if any(claims) else ""
    is_new = before is None or digest != before.claims_hash
    message, commit, commit_author = claims if is_new else ("", "", "")
    writer = spec_writer(tenant, previous)
    return SpecChange(
        generation=metadata["generation"],
        time=writer.get("time") or now,
        user=author.user if author else "",
        manager=writer.get("manager", ""),
        message=(author.message if author else "") or message,
        commit=commit,
        commit_author=commit_author,
        claims_hash=digest,
    )


def author_text(change: SpecChange) -> str:
    """The author of a change as text. The text shows whether the API server has checked the user name."""
    if change.commit_author:
        writer = f"by {change.user}" if change.user else f"via manager {change.manager}"
        return f"{change.commit_author} (according to the commit), applied {writer}"
    return change.user or unknown_author_text(change.manager)


def unknown_author_text(manager: str) -> str:
    """The text for an unknown author. It contains the field manager, which is not proof of the author."""
    return f"unknown, via manager {manager}" if manager else "unknown"


def spec_hash(spec: Mapping[str, Any]) -> str:
    return _digest(spec)


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _annotation(tenant: Manifest) -> str:
    value: str = (tenant["metadata"].get("annotations") or {}).get(SPEC_AUTHOR_ANNOTATION, "")
    return value


def _parsed(value: str) -> SpecAuthor | None:
    parts = value.split(SEPARATOR, 3)
    # The admission policy uses the same pattern. If this function accepted other numbers, such as 07, the
    # policy would not check them.
    if len(parts) != 4 or not re.fullmatch(GENERATION_PATTERN, parts[0]):
        return None
    user, _, message = parts[3].partition(MESSAGE_SEPARATOR)
    return SpecAuthor(int(parts[0]), parts[1], parts[2], user, message[:MESSAGE_MAX_LENGTH])

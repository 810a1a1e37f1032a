"""Checks the fields of a Tenant manifest that are not in its spec, as the API server does. No I/O."""

import re
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field, ValidationError

from tenancy.base.model import Model
from tenancy.base.patterns import DNS_NAME, LABEL_VALUE_PATTERN
from tenancy.base.validation import Problem, validation_problems

_NAME_MAX_LENGTH: Final = 63
_PREFIX_MAX_LENGTH: Final = 253
_ANNOTATIONS_MAX_BYTES: Final = 256 * 1024
_NAME_PATTERN: Final = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_NAME_TEXT: Final = (
    f"must have 1 to {_NAME_MAX_LENGTH} letters, digits, dashes, underscores and dots, with a letter or "
    "digit at both ends"
)
_PREFIX_TEXT: Final = f"must be a DNS name such as example.com with at most {_PREFIX_MAX_LENGTH} characters"


def object_problems(manifest: dict[Any, Any]) -> list[Problem]:
    """The problems with all fields outside the spec, except for the API version, the kind and the name."""
    try:
        _Object.model_validate({str(field): value for field, value in manifest.items()})
    except ValidationError as error:
        return validation_problems(error)
    return []


def _qualified_name(name: str) -> str:
    prefix, slash, last_part = name.rpartition("/")
    if not re.fullmatch(_NAME_PATTERN, last_part) or len(last_part) > _NAME_MAX_LENGTH:
        raise ValueError(f"{'the part after the slash' if slash else 'the name'} {_NAME_TEXT}")
    if slash and (not re.fullmatch(DNS_NAME, prefix) or len(prefix) > _PREFIX_MAX_LENGTH):
        raise ValueError(f"the part before the slash {_PREFIX_TEXT}")
    return name


def _annotation_name(name: str) -> str:
    _qualified_name(name.lower())  # The API server ignores the case of annotation names.
    return name


def _annotations_fit(annotations: dict[str, str | None]) -> dict[str, str | None]:
    size = sum(len((text or "").encode()) for entry in annotations.items() for text in entry)
    if size > _ANNOTATIONS_MAX_BYTES:
        raise ValueError(f"all annotations have {size} bytes, but must have at most {_ANNOTATIONS_MAX_BYTES}")
    return annotations


_QualifiedName = Annotated[str, AfterValidator(_qualified_name)]
_LabelValue = Annotated[str, Field(max_length=_NAME_MAX_LENGTH, pattern=LABEL_VALUE_PATTERN)]
_Annotations = Annotated[
    dict[Annotated[str, AfterValidator(_annotation_name)], str | None], AfterValidator(_annotations_fit)
]
_Required = Annotated[str, Field(min_length=1)]


class _OwnerReference(Model):
    api_version: _Required
    kind: _Required
    name: _Required
    uid: _Required
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class _Metadata(Model):
    """The fields of `metadata`, which every Kubernetes object has.

    The type `Any` marks fields that are not checked here. For example, `uid` is not checked, because
    `tenancy` does not send it.
    """

    name: Any = None
    labels: dict[_QualifiedName, _LabelValue | None] | None = None
    annotations: _Annotations | None = None
    finalizers: tuple[_QualifiedName, ...] | None = None
    owner_references: tuple[_OwnerReference, ...] | None = None
    generate_name: str | None = None
    namespace: str | None = None
    creation_timestamp: Any = None
    deletion_grace_period_seconds: int | None = None
    deletion_timestamp: Any = None
    generation: Any = None
    managed_fields: Any = None
    resource_version: Any = None
    self_link: str | None = None
    uid: Any = None


class _Object(Model):
    api_version: Any = None
    kind: Any = None
    metadata: _Metadata | None = None
    # The fields of the spec are checked elsewhere.
    spec: dict[Any, Any] | None = None
    status: Any = None

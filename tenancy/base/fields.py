"""Annotated types for model fields. Their validators make the same checks as the API server."""

import ipaddress
import re
from typing import Annotated, Final, TypeVar

from pydantic import AfterValidator, Field, JsonValue, StringConstraints

from tenancy.base.names import DNS_LABEL_PATTERN
from tenancy.base.patterns import (
    CLASS_PATTERN,
    DNS_NAME,
    DNS_NAME_PATTERN,
    HOST_PATTERN,
    LABEL_KEY_PATTERN,
    LABEL_VALUE_PATTERN,
    NO_CONTROL_CHARACTERS,
    NO_SPACES,
    REGISTRY_PATTERN,
    SERVICE_ACCOUNT_PATTERN,
    TAINT_PATTERN,
)
from tenancy.base.quantity import Quantity
from tenancy.base.validation import raise_problems

_LABEL_KEY = re.compile(rf"({DNS_NAME}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?")

DnsLabel = Annotated[str, StringConstraints(pattern=DNS_LABEL_PATTERN, max_length=63)]
DnsName = Annotated[str, StringConstraints(pattern=DNS_NAME_PATTERN, max_length=253)]
Subject = Annotated[str, StringConstraints(pattern=NO_CONTROL_CHARACTERS, min_length=1, max_length=253)]
# The error messages for groups and users to which a Tenant cannot give access.
GROUP_PROBLEM: Final = "must not begin with system:, because users of other tenants belong to such groups"
USER_PROBLEM: Final = "must not be system:anonymous, because users of other tenants can use this name"


def subject_problem(kind: str, name: str) -> str | None:
    """The reason why a Tenant can't give access to this subject. None if the Tenant can give access.

    `kind` is User, Group or ServiceAccount.
    """
    if kind == "Group" and name.startswith("system:"):
        return GROUP_PROBLEM
    return USER_PROBLEM if kind == "User" and name == "system:anonymous" else None


def _checked(kind: str) -> AfterValidator:
    def check(name: str) -> str:
        if problem := subject_problem(kind, name):
            raise ValueError(problem)
        return name

    return AfterValidator(check)


def _rule(rule: str, message: str) -> dict[str, JsonValue]:
    return {"x-kubernetes-validations": [{"rule": rule, "message": message}]}


GroupName = Annotated[
    Subject,
    _checked("Group"),
    Field(json_schema_extra=_rule("!self.startsWith('system:')", GROUP_PROBLEM)),
]
UserName = Annotated[
    Subject,
    _checked("User"),
    Field(json_schema_extra=_rule("self != 'system:anonymous'", USER_PROBLEM)),
]
Text = Annotated[str, StringConstraints(pattern=NO_CONTROL_CHARACTERS, max_length=253)]
ServiceAccountName = Annotated[str, StringConstraints(pattern=SERVICE_ACCOUNT_PATTERN, max_length=253)]
LabelValue = Annotated[str, StringConstraints(pattern=LABEL_VALUE_PATTERN, max_length=63)]
# An image registry with an optional path, such as `registry.example.com/team`.
Registry = Annotated[str, StringConstraints(pattern=REGISTRY_PATTERN, max_length=253)]
# A host name, or `*.DOMAIN` for every subdomain. It may contain the placeholder `${tenant.name}`.
HostPattern = Annotated[str, StringConstraints(pattern=HOST_PATTERN, min_length=1, max_length=253)]
# The name of a StorageClass, an IngressClass or another class. In an allow list, the empty string allows
# objects that set no class.
ClassName = Annotated[str, StringConstraints(pattern=CLASS_PATTERN, max_length=253)]
# A taint in the format of `kubectl taint`, such as `key=value:NoSchedule`. Value and effect are optional.
Taint = Annotated[str, StringConstraints(pattern=TAINT_PATTERN, max_length=400)]
LabelKey = Annotated[str, StringConstraints(pattern=LABEL_KEY_PATTERN, max_length=317)]
Image = Annotated[str, StringConstraints(pattern=NO_SPACES, max_length=512)]

Item = TypeVar("Item")


def require_unique(values: tuple[Item, ...]) -> tuple[Item, ...]:
    """Return `values` unchanged. Raise ValidationError with the index of each repeated value."""
    raise_problems(
        ((index,), f"{str(value)!r} is given twice")
        for index, value in enumerate(values)
        if value in values[:index]
    )
    return values


def _check_cidr(text: str) -> str:
    try:
        network = ipaddress.ip_network(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a CIDR such as 10.0.0.0/8 or 2001:db8::/32") from None
    # Python accepts an address without a prefix length. The API server rejects it.
    if "/" not in text:
        raise ValueError(f"{text!r} has no prefix length: write {network}")
    if "%" in text:
        raise ValueError(f"{text!r} must have no zone, which is the part after %")
    return text


def _check_selector_labels(labels: dict[str, str]) -> dict[str, str]:
    if not labels:
        raise ValueError("give at least one label; an empty selector would select everything")
    raise_problems(
        ((key,), f"{key!r} is not a valid label key") for key in labels if not _LABEL_KEY.fullmatch(key)
    )
    return labels


def _check_resources(amounts: dict[str, str]) -> dict[str, str]:
    raise_problems(
        ((key,), f"{key!r} is not the name of a resource such as cpu or example.com/gpu")
        for key in amounts
        if not _LABEL_KEY.fullmatch(key)
    )
    return amounts


def _key_rule(message: str) -> dict[str, JsonValue]:
    rule = f"self.all(k, k.matches('^{_LABEL_KEY.pattern}$'))".replace("\\", "\\\\")
    return {"rule": rule, "message": message}


# For a list of unique items. Only the API server uses `json_schema_extra`, so add the validator
# `require_unique` for the same check in Python.
AS_SET: Final = Field(max_length=256, json_schema_extra={"x-kubernetes-list-type": "set"})
GroupNames = Annotated[tuple[GroupName, ...], AS_SET, AfterValidator(require_unique)]
UserNames = Annotated[tuple[UserName, ...], AS_SET, AfterValidator(require_unique)]
ServiceAccountNames = Annotated[tuple[ServiceAccountName, ...], AS_SET, AfterValidator(require_unique)]
DnsLabels = Annotated[tuple[DnsLabel, ...], AS_SET, AfterValidator(require_unique)]
# For a list that can be set to an empty list. The list type is not `set`: if the last item of a `set` is
# removed, server-side apply removes the whole field.
AS_LIST: Final = Field(max_length=256, json_schema_extra={"x-kubernetes-list-type": "atomic"})
Registries = Annotated[tuple[Registry, ...], AS_LIST]
HostPatterns = Annotated[tuple[HostPattern, ...], AS_LIST]
ClassNames = Annotated[tuple[ClassName, ...], AS_LIST]
LabelKeys = Annotated[tuple[LabelKey, ...], AS_LIST]
Taints = Annotated[tuple[Taint, ...], AS_LIST]
Cidr = Annotated[
    str,
    StringConstraints(max_length=43),
    AfterValidator(_check_cidr),
    Field(
        json_schema_extra={
            "x-kubernetes-validations": [
                {
                    "rule": "isCIDR(self) && cidr(self).masked() == cidr(self)",
                    "message": "must be a CIDR such as 10.0.0.0/8, with no host bits set",
                }
            ]
        }
    ),
]
# The labels of a label selector (`matchLabels`).
SelectorLabels = Annotated[
    dict[str, LabelValue],
    Field(
        max_length=64,
        json_schema_extra={
            "x-kubernetes-validations": [
                {
                    "rule": "size(self) > 0",
                    "message": "give at least one label; an empty selector would select everything",
                },
                _key_rule("a key is not a valid label key"),
            ]
        },
    ),
    AfterValidator(_check_selector_labels),
]
# Quantities by resource name, such as `spec.hard` of a ResourceQuota. A resource name has the syntax of a
# label key.
_RESOURCE_RULE: Final[dict[str, JsonValue]] = {
    "x-kubernetes-validations": [_key_rule("a key is not the name of a resource")]
}
Quantities = Annotated[
    dict[str, Quantity],
    Field(max_length=64, json_schema_extra=_RESOURCE_RULE),
    AfterValidator(_check_resources),
]
NonEmptyQuantities = Annotated[
    dict[str, Quantity],
    Field(min_length=1, max_length=64, json_schema_extra=_RESOURCE_RULE),
    AfterValidator(_check_resources),
]

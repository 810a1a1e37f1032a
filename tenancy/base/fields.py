"""The kinds of values that fields take, each checked as the API server checks it.

Used by the models of the Tenant and of the plans file.
"""

import ipaddress
import re
from typing import Annotated, Final, TypeVar

from pydantic import AfterValidator, Field, StringConstraints

from tenancy.base.names import DNS_LABEL_PATTERN

DNS_NAME: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_LABEL_VALUE: Final = r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
_LABEL_KEY = re.compile(rf"({DNS_NAME}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?")

DnsLabel = Annotated[str, StringConstraints(pattern=DNS_LABEL_PATTERN, max_length=63)]
DnsName = Annotated[str, StringConstraints(pattern=f"^{DNS_NAME}$", max_length=253)]
# Control characters have no place in a name: the provider can't send them, and a terminal obeys them.
_NO_CONTROLS: Final = r"^\P{Cc}*$"
Subject = Annotated[str, StringConstraints(pattern=_NO_CONTROLS, min_length=1, max_length=253)]
Text = Annotated[str, StringConstraints(pattern=_NO_CONTROLS, max_length=253)]
ServiceAccountName = Annotated[
    str,
    StringConstraints(pattern=rf"^([a-z0-9]([-a-z0-9]{{0,61}}[a-z0-9])?/)?{DNS_NAME}$", max_length=253),
]
LabelValue = Annotated[str, StringConstraints(pattern=f"^{_LABEL_VALUE}$", max_length=63)]
# An image's registry, with or without a path below it: `registry.example.com/team`.
Registry = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9][-a-z0-9.]*(:[0-9]+)?(/[-a-z0-9._]+)*$", max_length=253)
]
# A host, or `*.` before a domain for every name below it. `${tenant.name}` may stand in it.
HostPattern = Annotated[
    str,
    StringConstraints(pattern=r"^(\*\.)?([-a-z0-9]|\.|\$\{tenant\.name\})+$", min_length=1, max_length=253),
]
# A class may be named by nothing at all: the cluster's own default.
ClassName = Annotated[str, StringConstraints(pattern=f"^({DNS_NAME})?$", max_length=253)]

Item = TypeVar("Item")


def unique(values: tuple[Item, ...]) -> tuple[Item, ...]:
    for index, value in enumerate(values):
        if value in values[:index]:
            raise ValueError(f"{str(value)!r} is given twice")
    return values


def _cidr(text: str) -> str:
    try:
        network = ipaddress.ip_network(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a network such as 10.0.0.0/8 or 2001:db8::/32") from None
    # The API server reads a bare address as no network, and keeps the text as it is.
    if "/" not in text:
        raise ValueError(f"{text!r} lacks its length: write {network}")
    return text


def _labels(labels: dict[str, str]) -> dict[str, str]:
    if not labels:
        raise ValueError("give at least one label; an empty selector would select everything")
    for key in labels:
        if not _LABEL_KEY.fullmatch(key):
            raise ValueError(f"{key!r} is not a label's name")
    return labels


# A list in which nothing stands twice, to pydantic and to the API server.
AS_SET: Final = Field(max_length=256, json_schema_extra={"x-kubernetes-list-type": "set"})
Subjects = Annotated[tuple[Subject, ...], AS_SET, AfterValidator(unique)]
ServiceAccountNames = Annotated[tuple[ServiceAccountName, ...], AS_SET, AfterValidator(unique)]
DnsLabels = Annotated[tuple[DnsLabel, ...], AS_SET, AfterValidator(unique)]
# A list that may be empty and means it: server-side apply drops a set that has lost its last item.
AS_LIST: Final = Field(max_length=256, json_schema_extra={"x-kubernetes-list-type": "atomic"})
Registries = Annotated[tuple[Registry, ...], AS_LIST]
HostPatterns = Annotated[tuple[HostPattern, ...], AS_LIST]
ClassNames = Annotated[tuple[ClassName, ...], AS_LIST]
Cidr = Annotated[
    str,
    StringConstraints(max_length=43),
    AfterValidator(_cidr),
    Field(
        json_schema_extra={
            "x-kubernetes-validations": [
                {
                    "rule": "isCIDR(self) && cidr(self).masked() == cidr(self)",
                    "message": "must be a network such as 10.0.0.0/8, with no bits set behind its length",
                }
            ]
        }
    ),
]
Labels = Annotated[
    dict[str, LabelValue],
    Field(
        max_length=64,
        json_schema_extra={
            "x-kubernetes-validations": [
                {
                    "rule": "size(self) > 0",
                    "message": "give at least one label; an empty selector would select everything",
                },
                {
                    "rule": f"self.all(k, k.matches('^{_LABEL_KEY.pattern}$'))".replace("\\", "\\\\"),
                    "message": "a key is not a label's name",
                },
            ]
        },
    ),
    AfterValidator(_labels),
]

"""Specs that the API server accepts and the model rejects.

Each entry contains the reason why the CRD cannot reject the spec.
"""

import re
from typing import Any, NamedTuple

from tenancy.base.validation import Problem

_CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}


class KnownDifference(NamedTuple):
    """A check that only the model makes.

    `problem` is a regular expression that matches the field and the message.
    """

    name: str
    reason: str
    problem: str
    example: dict[str, Any]

    def matches(self, problem: Problem) -> bool:
        return re.search(self.problem, str(problem), re.DOTALL) is not None


KNOWN_DIFFERENCES: list[KnownDifference] = [
    KnownDifference(
        "extra objects",
        "the CRD does not know the fields of the objects in extraResources",
        r"^spec\.extraResources\[",
        {"extraResources": [{**_CONFIG_MAP, "data": {"a": 5}}]},
    ),
    KnownDifference(
        "namespaces of access",
        "a rule on all combinations of access and namespaces would exceed the cost limit of CEL",
        r"^spec\.access\[\d+\]\.namespaces\[\d+\]: there is no namespace .* in spec\.namespaces",
        {"access": [{"kind": "User", "name": "a", "namespaces": ["dev"]}]},
    ),
    KnownDifference(
        "full names of namespaces",
        "a rule on all pairs of namespaces would exceed the cost limit of CEL",
        r"^spec\.namespaces\[\d+\]\.(name|existing): .* is given twice",
        {"adopt": True, "namespaces": [{"name": "a", "existing": "tenant-fuzz-b"}, {"name": "b"}]},
    ),
    KnownDifference(
        "precision of quantities",
        "neither a pattern nor CEL can compute the precision of a number with an exponent",
        r"is more precise than 1n, the smallest unit of a quantity",
        {"resourceQuotas": {"cpu": "1e-400"}},
    ),
    KnownDifference(
        "permissions that no tenant can have",
        "a rule on all combinations of API groups, resources and verbs would exceed the cost limit of CEL",
        r"^spec\.roles\..*can't be granted to a tenant",
        {"roles": {"admin": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}]}},
    ),
]


def is_known(problem: Problem) -> bool:
    return any(known.matches(problem) for known in KNOWN_DIFFERENCES)

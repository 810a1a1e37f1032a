"""Hypothesis strategies that generate hostile manifests.

A manifest is either a valid sample with a few changed values, or it is generated from the schema of the CRD.
"""

import copy
import os
import re
import secrets
from collections.abc import Iterator
from typing import Any
from unittest import mock

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture import providers

from tenancy.base.kinds import EXTRA_KINDS
from tenancy.base.manifest import Manifest
from tests.fuzz.hostile_values import HOSTILE_VALUES, NUMBERS, TEXTS

# The environment variable with the seed of an earlier `--long` run that should be repeated.
SEED_VARIABLE = "TENANCY_FUZZ_SEED"
Path = tuple[str | int, ...]

# For each field, at least one of these texts is valid.
VALID_TEXTS = [
    *("a", "dev", "prod", "a-b", "a.b", "alice", "basic", "pro", "enterprise", "team/ci", "a.example"),
    *("*.a.example", "registry.example:5000/team", "10.0.0.0/8", "2001:db8::/32", "key=value:NoSchedule"),
    *(
        "500m",
        "2",
        "1Gi",
        "30m",
        "requests.cpu",
        "count/jobs.batch",
        "pods",
        "cpu",
        "memory",
        "get",
        "update",
    ),
    *("kafkas", "configmaps", "example.com/key", "${tenant.name}.apps.example"),
]
_SPECS: list[Any] = [
    {},
    {"type": "ClusterIP", "ports": [{"port": 80}], "selector": {"a": "b"}},
    {"hard": {"pods": "5"}},
    {"limits": [{"type": "Container", "max": {"cpu": "1"}}]},
    {"podSelector": {}, "ingress": [{"from": [{"podSelector": {}}]}]},
    {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}},
]
_hostile = st.sampled_from(HOSTILE_VALUES).map(copy.deepcopy)


@st.composite
def _extra_resources(draw: st.DrawFn) -> Manifest:
    kind = draw(st.sampled_from(EXTRA_KINDS))
    name = draw(st.sampled_from(["a", "${tenant.name}", *TEXTS]))
    field = draw(st.sampled_from(["spec", "data", "binaryData", "imagePullSecrets", "immutable"]))
    entries = st.dictionaries(st.sampled_from(TEXTS), _hostile, max_size=2)
    value = draw(st.one_of(st.sampled_from(_SPECS), entries, _hostile))
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}, field: value}


@st.composite
def schema_values(draw: st.DrawFn, schema: Manifest) -> Any:
    """Generate values for a structural schema. Most of the values are valid."""
    if draw(st.integers(0, 15)) == 0:
        return draw(_hostile)
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return draw(_extra_resources())
    if "enum" in schema:
        return draw(st.sampled_from([*schema["enum"], *schema["enum"], "Other"]))
    if schema.get("x-kubernetes-int-or-string"):
        return draw(st.sampled_from(["1", "500m", "2Gi", 3, *NUMBERS, *TEXTS]))
    match schema.get("type"):
        case "object":
            return draw(_objects(schema))
        case "array":
            return draw(st.lists(schema_values(schema["items"]), max_size=3))
        case "integer":
            bounds = [schema.get("minimum", 0), schema.get("maximum", 5)]
            return draw(st.sampled_from([*bounds, *bounds, bounds[0] - 1, bounds[1] + 1]))
        case "boolean":
            return draw(st.booleans())
        case _:
            return draw(_texts(schema.get("pattern", "")))


def _texts(pattern: str) -> st.SearchStrategy[str]:
    # Python's regular expressions do not support the class \P.
    valid = [text for text in VALID_TEXTS if "\\P" in pattern or re.search(pattern, text)]
    return st.one_of(st.sampled_from(valid), st.sampled_from(valid), st.sampled_from(TEXTS))


@st.composite
def _objects(draw: st.DrawFn, schema: Manifest) -> Any:
    properties: dict[str, Manifest] = schema.get("properties", {})
    if not properties:
        keys = st.sampled_from([*VALID_TEXTS, *VALID_TEXTS, *TEXTS])
        return draw(st.dictionaries(keys, schema_values(schema.get("additionalProperties", {})), max_size=3))
    required = [name for name in schema.get("required", ()) if draw(st.integers(0, 15))]
    optional = draw(st.lists(st.sampled_from(sorted(properties)), max_size=3, unique=True))
    fields = {name: draw(schema_values(properties[name])) for name in dict.fromkeys([*required, *optional])}
    return fields if draw(st.integers(0, 15)) else {**fields, "unknown": draw(_hostile)}


def _paths(node: Any, path: Path = ()) -> Iterator[Path]:
    if path:
        yield path
    if isinstance(node, dict | list):
        for step, child in node.items() if isinstance(node, dict) else enumerate(node):
            yield from _paths(child, (*path, step))


@st.composite
def changed_samples(draw: st.DrawFn, samples: list[Any]) -> Any:
    """Take a sample, and replace, remove or repeat one to three of its values."""
    sample = copy.deepcopy(draw(st.sampled_from(samples)))
    for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3]))):
        paths = list(_paths(sample))
        if not paths:
            break
        path: Any = draw(st.sampled_from(paths))
        *parents, step = path
        container = sample
        for parent in parents:
            container = container[parent]
        match draw(st.sampled_from(["replace", "replace", "replace", "remove", "repeat", "rename"])):
            case "replace":
                container[step] = draw(_hostile)
            case "remove":
                del container[step]
            case "repeat" if isinstance(container, list):
                container.append(copy.deepcopy(container[step]))
            case "rename" if isinstance(container, dict):
                container[draw(st.sampled_from(TEXTS))] = container.pop(step)
    return sample


def generated(strategy: st.SearchStrategy[Any], count: int, *, is_random: bool) -> list[Any]:
    """Generate `count` values of the strategy.

    Unless `is_random` is true, each run generates the same values.
    """
    values: list[Any] = []

    @settings(
        max_examples=count,
        derandomize=not is_random,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(value: Any) -> None:
        values.append(value)

    if is_random:
        number = int(os.environ.get(SEED_VARIABLE) or secrets.randbelow(2**32))
        print(f"to repeat this run, set {SEED_VARIABLE}={number}")
        collect = seed(number)(collect)
    # By default, Hypothesis also uses constants from all modules of this project. Finding them takes seconds,
    # and the values would depend on the tests that have already run in this process.
    no_constants = providers._local_constants
    with mock.patch.object(providers, "_get_local_constants", return_value=no_constants):
        collect()
    return values

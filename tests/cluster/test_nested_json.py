"""The client can parse responses of the API server that contain JSON with thousands of nested levels."""

import json
from typing import Any

import pytest

from cluster.connection.nested_json import parsed_json
from tenancy.base.errors import InvalidSpec
from tenancy.spec.tenant import tenant_from_manifest


def depth(value: Any) -> int:
    levels = 0
    while isinstance(value, dict | list) and value:
        value = next(iter(value.values() if isinstance(value, dict) else value))
        levels += 1
    return levels


@pytest.mark.parametrize(("start", "end"), [('{"a":', "}"), ("[", "]"), ('[{"a":', "}]")])
def test_deep_values_are_cut_and_others_are_kept(start: str, end: str) -> None:
    deep = start * 5000 + "1" + end * 5000
    others = '"text": "]}\\\\\\"[{", "list": [1, {"b": [2]}], "last": true'
    parsed = parsed_json(f'{{"deep": {deep}, {others}, "again": {deep}}}'.encode())
    assert {**parsed, "deep": 0, "again": 0} == {"deep": 0, **json.loads(f"{{{others}}}"), "again": 0}
    assert 100 < depth(parsed["deep"]) <= 150
    assert depth(parsed["again"]) == depth(parsed["deep"])


def test_cut_spec_is_rejected() -> None:
    deep = '{"a":' * 5000 + "1" + "}" * 5000
    item = f'{{"apiVersion": "v1", "kind": "Service", "metadata": {{"name": "a"}}, "spec": {deep}}}'
    manifest = parsed_json(
        f'{{"metadata": {{"name": "a"}}, "spec": {{"extraResources": [{item}]}}}}'.encode()
    )
    with pytest.raises(InvalidSpec, match="is nested too deeply"):
        tenant_from_manifest(manifest)


@pytest.mark.parametrize("text", [b"", b"{", b"[1,]", b"\xff", b"9" * 5000])
def test_invalid_document_is_an_error(text: bytes) -> None:
    with pytest.raises(ValueError, match="at line 1"):
        parsed_json(text)

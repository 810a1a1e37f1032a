"""The tests that the security page names exist."""

import re

import pytest

from embedded.environment import ROOT

_PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
_TESTS = sorted(set(re.findall(r"`(tests/[a-z_/]+\.py)::(test_\w+)`", _PAGE)))


@pytest.mark.parametrize(("file", "test"), _TESTS)
def test_test_on_the_security_page_exists(file: str, test: str) -> None:
    assert f"\ndef {test}(" in (ROOT / file).read_text(encoding="utf-8")


def test_security_page_names_tests() -> None:
    assert len(_TESTS) > 10

"""Each dependency that only some tests need has a fixture.

If the dependency is not available, only these tests fail.
"""

import pytest

from embedded.errors import SetupFailed
from embedded.toolchain.tools import TEST_TOOLS
from tests import conftest, preparation


def test_each_tool_of_the_tests_has_a_fixture_that_is_waited_for() -> None:
    fixtures = {f"{name.replace('-', '_')}_binary" for name in TEST_TOOLS}
    assert all(hasattr(conftest, fixture) for fixture in fixtures)


def test_failed_build_is_tried_once_and_fails_only_who_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    requested: list[str] = []

    def get(name: str) -> str:
        requested.append(name)
        if name == "broken-tool":
            raise SetupFailed("no compiler")
        return f"/tools/{name}"

    monkeypatch.setattr(preparation, "_get", get)
    for _ in range(2):
        assert isinstance(preparation.prepare("broken-tool"), SetupFailed)
        with pytest.raises(SetupFailed, match="no compiler"):
            preparation.path("broken-tool")
        assert str(preparation.path("whole-tool")) == "/tools/whole-tool"
    assert requested == ["broken-tool", "whole-tool"]
    preparation.prepare.cache_clear()

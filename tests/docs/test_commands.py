"""The reference page of the `tenancy` command contains the current help texts."""

from embedded.commands_page import COMMANDS_PAGE, commands_page


def test_page_of_commands_is_current() -> None:
    assert COMMANDS_PAGE.read_text(encoding="utf-8") == commands_page(), "run ./dev generate"

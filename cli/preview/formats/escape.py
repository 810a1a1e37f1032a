"""Escapes text from manifests for Markdown and terminals, because manifests are untrusted. No I/O."""

import re
from typing import Final

# Characters with a special meaning in Markdown or HTML, or in the emoji and references of GitHub and GitLab.
_SPECIAL: Final = re.compile(r"[\\`*_{}\[\]<>&#|~@!$%]|:(?=\S)")
# GitHub and GitLab look for mentions and references after they have rendered the Markdown. Therefore an HTML
# entity is not sufficient for these characters. A zero-width space must follow.
_REFERENCE_SIGNS: Final = "@#!$&%~"
_ZERO_WIDTH_SPACE: Final = "&#8203;"
_LINK: Final = re.compile(r"(?i)\bwww\.")


def printable(text: str) -> str:
    """The text with escapes, such as `\\n`, for line breaks, control characters and text direction marks."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def escaped_markdown(text: str) -> str:
    """The text with escapes, so that Markdown renders it literally in a line or a table cell."""
    escaped = _SPECIAL.sub(_entity, printable(text))
    return _LINK.sub(lambda match: f"{match[0][:3]}&#46;{_ZERO_WIDTH_SPACE}", escaped)


def fence(body: str) -> str:
    """A code fence that is longer than any run of backticks in the body."""
    longest = max((len(run) for run in re.findall("`+", body)), default=0)
    return "`" * max(3, longest + 1)


def _entity(match: "re.Match[str]") -> str:
    char = match[0]
    return f"&#{ord(char)};{_ZERO_WIDTH_SPACE if char in _REFERENCE_SIGNS else ''}"

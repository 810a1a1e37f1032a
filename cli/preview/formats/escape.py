"""Text from manifests made safe for Markdown and for the eye. Pure."""

import re
from typing import Final

# What means something in Markdown, HTML, or what GitHub and GitLab make of them: emoji, math, references.
_SPECIAL: Final = re.compile(r"[\\`*_{}\[\]<>&#|~@!$%]|:(?=\S)")
# They look for names and numbers after rendering, so an entity alone would still call somebody.
_CALLS: Final = "@#!$&%~"
_NOTHING: Final = "&#8203;"
_LINK: Final = re.compile(r"(?i)\bwww\.")


def printable(text: str) -> str:
    """Without line breaks, control characters, and those that turn the writing around."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def escaped_markdown(text: str) -> str:
    """A text that reads as itself anywhere in a line of Markdown, also in a table's cell."""
    escaped = _SPECIAL.sub(_entity, printable(text))
    return _LINK.sub(lambda found: f"{found[0][:3]}&#46;{_NOTHING}", escaped)


def fence(body: str) -> str:
    """A fence longer than any that the body holds."""
    longest = max((len(run) for run in re.findall("`+", body)), default=0)
    return "`" * max(3, longest + 1)


def _entity(found: "re.Match[str]") -> str:
    char = found[0]
    return f"&#{ord(char)};{_NOTHING if char in _CALLS else ''}"

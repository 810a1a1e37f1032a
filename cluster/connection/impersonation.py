"""The user to impersonate, and the HTTP headers that name this user in requests."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Final
from urllib.parse import quote

# The characters that `quote` must not encode, because they are allowed in the name of an HTTP header.
_HEADER_NAME_CHARACTERS: Final = "!#$&'*+-.^_`|~"
_CONTROL_CHARACTER: Final = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True)
class Impersonation:
    """The user to impersonate. If all fields are empty, the client sends requests as its own user."""

    user: str = ""
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def problem(self) -> str:
        """Why requests with this impersonation cannot succeed. Empty if the impersonation is valid."""
        if not self.user and (self.groups or self.uid or self.extra):
            return "must be set, or use --as: groups, UIDs and extra fields need an impersonated user"
        values = (self.user, self.uid, *self.groups, *chain.from_iterable(self.extra.values()))
        if any(_CONTROL_CHARACTER.search(value) for value in values):
            return (
                "the impersonated user, its groups, UID and extra fields must not contain control characters"
            )
        return ""

    def replaced_by(self, other: "Impersonation") -> "Impersonation":
        """A copy of this object. If a field is set in `other`, the copy has the value of `other`.

        For `extra`, this rule applies to each key.
        """
        return Impersonation(
            other.user or self.user,
            other.groups or self.groups,
            other.uid or self.uid,
            {**self.extra, **other.extra},
        )

    def headers(self) -> list[tuple[str, str]]:
        """The name and the value of each header. The same name can occur several times, once per group."""
        pairs = [
            ("Impersonate-User", self.user),
            ("Impersonate-Uid", self.uid),
            *(("Impersonate-Group", group) for group in self.groups),
            *(
                (f"Impersonate-Extra-{quote(key, safe=_HEADER_NAME_CHARACTERS)}", value)
                for key, values in self.extra.items()
                for value in values
            ),
        ]
        # The HTTP library encodes header values as Latin-1. The API server expects UTF-8.
        return [(name, value.encode().decode("latin-1")) for name, value in pairs if value]


NO_IMPERSONATION: Final = Impersonation()

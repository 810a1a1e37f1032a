"""The user to impersonate, and the HTTP headers that name this user in requests."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Final
from urllib.parse import quote

# The characters of a header name that `quote` would encode otherwise.
_HEADER_NAME_CHARACTERS: Final = "!#$&'*+-.^_`|~"
_CONTROL_CHARACTER: Final = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True)
class Impersonation:
    """The identity to impersonate. If all fields are empty, requests have the identity of the credentials."""

    user: str = ""
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def problem(self) -> str:
        """The reason why the API server would reject every request. Empty if there is no such reason."""
        if not self.user and (self.groups or self.uid or self.extra):
            return "must be set, or use --as: groups, UIDs and extra fields need an impersonated user"
        values = (self.user, self.uid, *self.groups, *chain.from_iterable(self.extra.values()))
        if any(_CONTROL_CHARACTER.search(value) for value in values):
            return (
                "the impersonated user, its groups, UID and extra fields must not contain control characters"
            )
        return ""

    def replaced_by(self, other: "Impersonation") -> "Impersonation":
        """A copy. As in kubectl, the fields that are set in `other` replace the fields of this object."""
        return Impersonation(
            other.user or self.user,
            other.groups or self.groups,
            other.uid or self.uid,
            {**self.extra, **other.extra},
        )

    def headers(self) -> list[tuple[str, str]]:
        """The names and values of the headers. The same name can occur more than once."""
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

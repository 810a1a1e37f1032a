"""The user that requests impersonate, and the HTTP headers that tell it to the API server."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

# The characters of a header name that `quote` would encode otherwise.
_HEADER_NAME_CHARACTERS: Final = "!#$&'*+-.^_`|~"


@dataclass(frozen=True)
class Impersonation:
    """The identity of requests. If all fields are empty, requests have the identity of the credentials."""

    user: str = ""
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def lacks_user(self) -> bool:
        """Whether another field is set, but not the user. The API server rejects such requests."""
        return not self.user and bool(self.groups or self.uid or self.extra)

    def replaced_by(self, other: "Impersonation") -> "Impersonation":
        """This impersonation with the fields that are set in `other`, as kubectl's options replace fields."""
        return Impersonation(
            other.user or self.user,
            other.groups or self.groups,
            other.uid or self.uid,
            {**self.extra, **other.extra},
        )

    def headers(self) -> list[tuple[str, str]]:
        """Names and values of the headers. A name can occur more than once."""
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

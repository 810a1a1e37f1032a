"""The product's version. The package's metadata is made from it; CHANGELOG.md says what is in it."""

from typing import Final

VERSION: Final = "0.1.0"

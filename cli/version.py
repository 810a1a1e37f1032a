"""The version of tenancy. The package metadata reads it from here; CHANGELOG.md describes each version."""

from typing import Final

VERSION: Final = "0.1.0"

"""The version of tenancy. The package metadata uses this value. CHANGELOG.md describes each version."""

from typing import Final

VERSION: Final = "0.1.0"

"""The watcher's fixtures are every test's, in `tests/conftest.py`; tests here take their type from here."""

from tests.platform import NewTenant

__all__ = ["NewTenant"]

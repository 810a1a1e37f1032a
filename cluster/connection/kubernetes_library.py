"""The parts of the package `kubernetes` that send requests and read kubeconfigs, without its models.

The `__init__.py` files of the package import 700 models and API classes. Tenancy does not use these classes,
and importing them takes half a second in each process. So this module creates the packages without running
their `__init__.py` files, and imports the needed modules into them. Then it removes these packages from
`sys.modules`. If other code imports `kubernetes`, it gets its own complete copy.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from types import ModuleType
from typing import Final

_PACKAGES: Final = ("kubernetes", "kubernetes.client", "kubernetes.client.models")


@contextmanager
def _empty_packages() -> Iterator[None]:
    """In the `with` block, `sys.modules` contains empty packages instead of the packages in `_PACKAGES`.

    After the block, `sys.modules` is the same as before the block.
    """
    initial = _imported_modules()
    _remove(initial)
    path = None
    for name in _PACKAGES:
        spec = PathFinder.find_spec(name, path)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        # `import_module` would run the `__init__.py`.
        package = module_from_spec(spec)
        path, sys.modules[name] = spec.submodule_search_locations, package
        parent, _, child = name.rpartition(".")
        if parent:
            vars(sys.modules[parent])[child] = package
    try:
        yield
    finally:
        _remove(_imported_modules())
        sys.modules.update(initial)


def _imported_modules() -> dict[str, ModuleType]:
    return {name: module for name, module in sys.modules.items() if name.split(".")[0] == "kubernetes"}


def _remove(modules: dict[str, ModuleType]) -> None:
    for name in modules:
        del sys.modules[name]


with _empty_packages():
    from kubernetes import client
    from kubernetes.client.api_client import ApiClient
    from kubernetes.client.configuration import Configuration
    from kubernetes.client.exceptions import ApiException

    # `kubernetes.config` imports some of these names from `kubernetes.client`.
    vars(client).update(ApiClient=ApiClient, ApiException=ApiException, Configuration=Configuration)
    from kubernetes import config

__all__ = ["client", "config"]

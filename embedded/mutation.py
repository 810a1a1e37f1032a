"""One fault that `./dev mutate` puts into the product."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutation:
    """One fault. The text `new` replaces the text `old`, which must occur exactly once in `file`."""

    name: str
    fault: str
    file: str
    old: str
    new: str
    # pytest node ids of test functions, without parameters.
    tests: tuple[str, ...]

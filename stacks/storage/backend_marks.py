"""Reads the objects with which tenancy marks a backend: the salt of its stacks, and the state of a move."""

from dataclasses import dataclass
from typing import Final

from stacks.errors import StackError
from stacks.storage.objects import Objects

_PREFIX: Final = ".pulumi/tenancy-"
_SALT_KEY: Final = f"{_PREFIX}salt"
# `engine/copy_command.go` writes these objects.
_PROBLEMS: Final = {
    f"{_PREFIX}copy": "the backend is a backup or an incomplete copy of another backend; use `tenancy state "
    "restore`, or repeat `tenancy state move`",
    f"{_PREFIX}moved": "the stacks were moved to another backend; set PULUMI_BACKEND_URL to its URL",
}


@dataclass(frozen=True)
class BackendMarks:
    objects: Objects

    def read_salt(self) -> str | None:
        """The salt that all stacks share. None if the backend has no salt yet.

        Raises StackError if a watcher must not use the backend.
        """
        marks = self.objects.read(_PREFIX)
        for key, problem in _PROBLEMS.items():
            if key in marks:
                raise StackError(problem)
        return marks[_SALT_KEY].decode() if _SALT_KEY in marks else None

    def save_salt(self, salt: str) -> None:
        self.objects.write(_SALT_KEY, salt.encode())

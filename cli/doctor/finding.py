"""What a check has found, in a form for people and for programs. Made by every check of the doctor's."""

from enum import StrEnum

from tenancy.base.model import Model


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"
    FAILED = "FAILED"


class Finding(Model):
    level: Level
    # What was looked at, in a word or two.
    subject: str
    message: str
    # The command that mends it, or that tells more. Empty where there is nothing to do.
    fix: str = ""


def ok(subject: str, message: str) -> Finding:
    return Finding(level=Level.OK, subject=subject, message=message)


def warning(subject: str, message: str, fix: str = "") -> Finding:
    return Finding(level=Level.WARNING, subject=subject, message=message, fix=fix)


def failed(subject: str, message: str, fix: str = "") -> Finding:
    return Finding(level=Level.FAILED, subject=subject, message=message, fix=fix)

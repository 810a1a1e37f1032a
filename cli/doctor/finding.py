"""The result of a check of `tenancy doctor`."""

from enum import StrEnum

from tenancy.base.model import Model


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"
    FAILED = "FAILED"


class CheckResult(Model):
    """One result of a check. `tenancy doctor -o json` prints a list of these results."""

    level: Level
    # The name of the checked component, such as `watcher`.
    subject: str
    message: str
    # A command or instruction that fixes the problem or shows its cause. Empty if there is nothing to do.
    fix: str = ""
    # True if the check could not run, for example because the user lacks rights.
    is_skipped: bool = False


def ok(subject: str, message: str) -> CheckResult:
    return CheckResult(level=Level.OK, subject=subject, message=message)


def warning(subject: str, message: str, fix: str = "") -> CheckResult:
    return CheckResult(level=Level.WARNING, subject=subject, message=message, fix=fix)


def skipped(subject: str, message: str, fix: str = "") -> CheckResult:
    """A warning about a check that could not run."""
    return CheckResult(
        level=Level.WARNING, subject=subject, message=f"not checked: {message}", fix=fix, is_skipped=True
    )


def failed(subject: str, message: str, fix: str = "") -> CheckResult:
    return CheckResult(level=Level.FAILED, subject=subject, message=message, fix=fix)

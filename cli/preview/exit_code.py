"""The exit code of `tenancy preview` and `tenancy plans impact`, which CI pipelines can check. No I/O."""

from typing import Final

from cli.preview.findings.finding import Severity
from cli.preview.result import Outcome, Preview

NO_CHANGES: Final = 0
ERROR: Final = 1
CHANGES: Final = 2


def exit_code(preview: Preview) -> int:
    if any(preview.findings(Severity.ERROR)):
        return ERROR
    return CHANGES if preview.with_outcome(Outcome.NEW, Outcome.CHANGED, Outcome.DELETED) else NO_CHANGES

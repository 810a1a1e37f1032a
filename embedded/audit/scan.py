"""The result of a scanner for known vulnerabilities, such as pip-audit or govulncheck."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Scan:
    """The vulnerabilities that a scanner has found.

    If the scanner could not check all dependencies, `problem` contains the reason. For example, the scanner
    could not reach its database. Otherwise, `problem` is empty.
    """

    vulnerabilities: tuple[str, ...] = ()
    problem: str = ""

    @property
    def text(self) -> str:
        lines = [f"NOT CHECKED: {self.problem}"] if self.problem else []
        if self.vulnerabilities:
            lines += [f"known vulnerabilities: {len(self.vulnerabilities)}", *self.vulnerabilities]
        return "\n  ".join(lines) or "no known vulnerabilities"


def last_line(output: str) -> str:
    """The last line of a program's output. It usually contains the error."""
    lines = output.strip().splitlines()
    return lines[-1].strip() if lines else "the scanner printed no error"

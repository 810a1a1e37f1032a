"""The results of the checks of `tenancy prove` for one tenant."""

from collections import Counter

from tenancy.base.model import Model
from tenancy.isolation.evaluation import Outcome, Result


class TenantReport(Model):
    """The results of all checks for one tenant. `tenancy prove -o json` prints a list of these reports."""

    tenant: str
    api_version: str
    results: tuple[Result, ...]

    @property
    def counts(self) -> dict[Outcome, int]:
        counts = Counter(result.outcome for result in self.results)
        return {outcome: counts[outcome] for outcome in Outcome}

    @property
    def is_proved(self) -> bool:
        return not self.counts[Outcome.FAILED]

    @property
    def summary(self) -> str:
        counts = ", ".join(f"{count} {outcome.value}" for outcome, count in self.counts.items())
        return f"tenant {self.tenant}: {counts}"

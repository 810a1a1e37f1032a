"""The way from the quotas that are to those that are wanted, within one budget."""

from collections.abc import Mapping

from tenancy.desired import DesiredState
from tenancy.manifest import Manifest, ObjectKey


def budget_step(desired: DesiredState, live: Mapping[ObjectKey, Manifest]) -> DesiredState:
    """What to apply next."""
    del live
    return desired


def budget_problem(desired: DesiredState, live: Mapping[ObjectKey, Manifest]) -> str | None:
    """Why the budget can't be split, if so."""
    del desired, live
    return None

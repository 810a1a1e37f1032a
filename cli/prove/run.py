"""Runs the checks of `tenancy prove` for one tenant."""

from cli.prove.facts import ClusterFacts
from cli.prove.report import TenantReport
from cluster.attempts import Attempts
from tenancy.base.manifest import Manifest
from tenancy.isolation.catalog import CHECKS
from tenancy.isolation.check import Actor, Check, NotApplicable, Role
from tenancy.isolation.comparison import Problems
from tenancy.isolation.evaluation import Outcome, Result, attempt_outcome, compared_outcome, is_lowered
from tenancy.isolation.target import Target, actors


def run_checks(facts: ClusterFacts, attempts: Attempts, manifest: Manifest, writer: str) -> TenantReport:
    """Run all checks for a tenant.

    `writer` is the name of a user who can write Tenants. If it is empty, the checks that need such a user are
    skipped.
    """
    target, problems = facts.target(manifest)
    users = actors(target.desired, writer)
    targets = {role: facts.seen_by(target, actor) for role, actor in users.items()}
    results = [
        _result(check, targets.get(check.role), users.get(check.role), attempts, problems) for check in CHECKS
    ]
    return TenantReport(tenant=target.name, api_version=manifest["apiVersion"], results=tuple(results))


def _result(
    check: Check, target: Target | None, actor: Actor | None, attempts: Attempts, problems: Problems
) -> Result:
    """Run one check, and return its result.

    The check fails if one of its protections, such as an admission policy, is missing or changed in the
    cluster. Otherwise, the function sends the request of the check as the user `actor`. The check then passes
    only if one of its protections rejects the request.
    """
    compared, text = compared_outcome(check, problems)
    request = ""
    if compared is Outcome.FAILED or check.attempt is None:
        outcome, answer = compared, text
    elif target is None or actor is None:
        outcome, answer = Outcome.SKIPPED, _no_user(check.role)
    elif is_lowered(check, target):
        outcome, answer = (
            Outcome.SKIPPED,
            f"podSecurity of the tenant is {target.settings.pod_security.value}",
        )
    else:
        try:
            attempt = check.attempt(target)
        except NotApplicable as reason:
            outcome, answer = Outcome.SKIPPED, str(reason)
        else:
            request = str(attempt)
            outcome, answer = attempt_outcome(check, target, attempts.answer(actor, attempt))
    return Result(
        id=check.id,
        title=check.title,
        level=check.level,
        role=check.role.value,
        user=str(actor) if request else "",
        attempt=request,
        expected=" or ".join(map(str, check.protections)),
        outcome=outcome,
        answer=answer,
    )


def _no_user(role: Role) -> str:
    if role is Role.WRITER:
        return "this check needs a user who can write Tenants; use --writer"
    return f"the tenant has no {role.value}"

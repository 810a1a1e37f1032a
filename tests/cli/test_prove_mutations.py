"""Each check of `tenancy prove` fails if the check's protections are removed.

`--long` tests all protections.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from cluster.access_reviews import REVIEWED_CHECKS, review_rights
from tenancy.base.kinds import NETWORK_POLICY, SERVICE_ACCOUNT
from tenancy.isolation.catalog import CHECK_BY_ID, CHECKS
from tenancy.isolation.check import BASELINE, RBAC, Check, Layer, Protection, Role, policy, tenant_object
from tenancy.isolation.evaluation import Outcome, compared_outcome
from tests.cli.proving import PEOPLE, Proof, create, every_check_applies, writer_of_tenants
from tests.platform import Platform, tenant_manifest
from tests.waiting import eventually

# The right to request a token of the admin's account. Without it, RBAC rejects the request, not the policy.
TOKENS = [
    {
        "apiGroups": [""],
        "resources": ["serviceaccounts/token"],
        "resourceNames": ["boss"],
        "verbs": ["create"],
    }
]
# With these settings, all checks apply except those in ONLY_CLOSED.
OPEN: dict[str, Any] = {
    **PEOPLE,
    "plan": "pro",
    "roles": {"admin": TOKENS, "operator": TOKENS},
    "registries": ["registry.example"],
    "imagePullPolicies": ["Always"],
    "storageClasses": ["fast"],
    "ingressClasses": ["public"],
    "runtimeClasses": [""],
    "hostnames": ["mutated.example"],
    "nodeSelector": {"pool": "tenants"},
}
CLOSED: dict[str, Any] = {**PEOPLE, "cordoned": True, "protected": True}
ONLY_CLOSED = ("cordon-write", "cordon-connect", "writer-protected")
# Even without these protections, the API server does not allow the requests. Without the LimitRange, the
# quota rejects pods that have no limits. Without the RBAC protection, the API server rejects some requests as
# invalid.
NOT_ALLOWED_EITHER = (Layer.RBAC, Layer.LIMITS)
# The comparison with the shipped objects does not cover these layers.
_NOT_COMPARED = (Layer.RBAC, Layer.QUOTA, Layer.LIMITS, Layer.SCHEMA)


@pytest.fixture(scope="module")
def proof(running_platform: Platform) -> Iterator[Proof]:
    """A paused tenant. The watcher does not restore the protections that a test removes."""
    manifest = tenant_manifest("proof-mutated", **OPEN)
    running_platform.ensure_started()
    running_platform.add(manifest)
    running_platform.await_active(manifest)
    paused = tenant_manifest("proof-mutated", **OPEN, paused=True)
    running_platform.apply(paused)
    running_platform.await_condition(paused, "Paused")
    create(running_platform, SERVICE_ACCOUNT, "boss", "tenant-proof-mutated")
    with writer_of_tenants(running_platform):
        yield Proof(running_platform, paused)
    running_platform.abandon(paused)


SAMPLE: dict[str, tuple[Protection, set[str]]] = {
    "a policy without its binding": (policy("endpoints"), {"endpoints"}),
    "a policy for tokens": (policy("token-requests"), {"account-token-request"}),
    "a NetworkPolicy": (tenant_object(NETWORK_POLICY, "default-deny-all"), {"network-default-deny"}),
    "the Pod Security level": (BASELINE, {"pod-host-pid", "pod-privileged", "namespace-desired"}),
    "restricted rights": (RBAC, {"viewer-secrets", "foreign-pods", "cluster-nodes"}),
}


@pytest.mark.parametrize("removed", SAMPLE)
def test_check_fails_without_its_protection(removed: str, proof: Proof) -> None:
    protection, ids = SAMPLE[removed]
    checks = [CHECK_BY_ID[each] for each in ids]

    def outcomes() -> set[Outcome]:
        return {outcome for outcome, _ in proof.attempts(*checks).values()}

    with proof.without(protection):
        eventually(lambda: outcomes() <= {Outcome.FAILED}, lambda: f"allowed: {proof.attempts(*checks)}")
        compared = {compared_outcome(check, proof.problems())[0] for check in checks}
        assert compared == {Outcome.PASSED if protection == RBAC else Outcome.FAILED}
    eventually(lambda: outcomes() <= {Outcome.PASSED}, lambda: f"rejected: {proof.attempts(*checks)}")


def test_condition_names_failed_checks(platform: Platform, proof: Proof) -> None:
    """The watcher compares the live policies with the shipped policies.

    After a change, it updates the condition.
    """
    platform.await_condition(proof.manifest, "ChecksPassed", "Isolated")
    with proof.without(policy("deleter")):
        failed = platform.await_condition(proof.manifest, "ChecksFailed", "Isolated")
        assert failed["status"] == "False"
        assert failed["message"] == (
            "failed checks: writer-deleter: "
            "ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io tenancy-deleter does not exist"
        )
    assert platform.await_condition(proof.manifest, "ChecksPassed", "Isolated")["status"] == "True"


def test_watcher_reviews_the_rights_of_users(platform: Platform, proof: Proof) -> None:
    assert review_rights(platform.admin, proof.target) == {}
    with proof.without(RBAC):
        expected = {check.id for check in REVIEWED_CHECKS if check.role is not Role.WRITER}
        eventually(
            lambda: review_rights(platform.admin, proof.target).keys() == expected,
            lambda: f"{expected - review_rights(platform.admin, proof.target).keys()} fail",
        )


def by_protections() -> dict[tuple[Protection, ...], list[Check]]:
    groups: dict[tuple[Protection, ...], list[Check]] = {}
    for check in CHECKS:
        if check.id not in ONLY_CLOSED:
            groups.setdefault(check.protections, []).append(check)
    return groups


@pytest.fixture(scope="module")
def busy_proof(proof: Proof) -> Iterator[Proof]:
    with every_check_applies(proof):
        yield proof


@pytest.mark.long
def test_every_check_of_an_isolated_tenant_passes(busy_proof: Proof) -> None:
    results = busy_proof.results()
    assert {each.id for each in results.values() if each.outcome is not Outcome.PASSED} == set(ONLY_CLOSED)


@pytest.mark.long
@pytest.mark.parametrize("protections", by_protections(), ids=lambda each: " and ".join(map(str, each)))
def test_every_check_fails_without_its_protections(
    protections: tuple[Protection, ...], busy_proof: Proof
) -> None:
    _expect_failures(busy_proof, protections, by_protections()[protections])


@pytest.mark.long
def test_every_removed_protection_is_noticed(proof: Proof) -> None:
    """`tenancy prove` detects each removed protection, because it compares live objects with desired ones."""
    compared = {each for check in CHECKS for each in check.protections if each.layer not in _NOT_COMPARED}
    for protection in sorted(compared, key=str):
        with proof.without(protection):
            assert protection in proof.problems()
    assert proof.problems() == {}


@pytest.mark.long
@pytest.mark.usefixtures("proof")
def test_checks_of_closed_tenants_fail_without_their_protections(platform: Platform) -> None:
    manifest = tenant_manifest("proof-closed", **CLOSED)
    platform.add(manifest)
    platform.await_active(manifest)
    closed = Proof(platform, manifest)
    try:
        assert closed.failed() == set()
        for check_id in ONLY_CLOSED:
            check = CHECK_BY_ID[check_id]
            assert closed.attempts(check)[check_id][0] is Outcome.PASSED
            _expect_failures(closed, check.protections, [check])
    finally:
        opened = platform.apply(tenant_manifest("proof-closed", **PEOPLE, protected=False))
        platform.await_active(opened)
        platform.abandon(opened)


def _expect_failures(proof: Proof, protections: tuple[Protection, ...], checks: list[Check]) -> None:
    """Remove the protections, and expect that the API server then allows the requests of the checks."""
    is_allowed = not any(each.layer in NOT_ALLOWED_EITHER for each in protections)
    # Keep objects such as Roles. They do not reject requests, but without them, the users would have no
    # rights.
    rejecting = [each for each in protections if each.layer is not Layer.OBJECT] or protections

    def wrong() -> dict[str, tuple[Outcome, str]]:
        return {
            check_id: (outcome, text)
            for check_id, (outcome, text) in proof.attempts(*checks).items()
            if outcome is not Outcome.FAILED or (is_allowed and text != "allowed")
        }

    with proof.without(*rejecting):
        eventually(lambda: not wrong(), lambda: f"without {rejecting}: {wrong()}", timeout_s=30)
    eventually(
        lambda: all(outcome is Outcome.PASSED for outcome, _ in proof.attempts(*checks).values()),
        lambda: f"{protections} are restored: {proof.attempts(*checks)}",
        timeout_s=30,
    )

"""A subject that is removed from the spec loses all access.

This includes access by RoleBindings that users have created.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from tenancy.base.kinds import CONFIG_MAP, RBAC_GROUP, ROLE_BINDING, SERVICE_ACCOUNT
from tenancy.base.manifest import Manifest
from tests.admission.people import SECRET, Person, create
from tests.commandline import run_tenancy
from tests.platform import Platform, tenant_manifest
from tests.waiting import eventually

NAMESPACE, OTHER = "tenant-ousted", "default"
ADA, ABE, NED = ({"apiGroup": RBAC_GROUP, "kind": "User", "name": name} for name in ("ada", "abe", "ned"))
ROBOT = {"apiGroup": RBAC_GROUP, "kind": "User", "name": f"system:serviceaccount:{NAMESPACE}:robot"}
MANIFEST = tenant_manifest(
    "ousted",
    adminUsers=["ada", "abe"],
    rbacConfig={"serviceAccounts": ["robot"]},
    access=[{"kind": "User", "name": "ned", "role": "operator"}],
)
# Only the role of ned changes. The other two subjects are removed from the spec.
WITHOUT = {"adminUsers": ["abe"], "access": [{"kind": "User", "name": "ned", "role": "viewer"}]}
PROBE = create(CONFIG_MAP, "probe", NAMESPACE)


def binding(
    name: str, *subjects: Manifest, kind: str = "Role", role: str = "tenant-admin", **more: Any
) -> Any:
    attempt = create(ROLE_BINDING, name, more.pop("namespace", NAMESPACE), subjects=list(subjects))
    assert attempt.body is not None
    attempt.body["roleRef"] = {"apiGroup": RBAC_GROUP, "kind": kind, "name": role}
    attempt.body["metadata"] |= more
    return attempt


# RoleBindings that the platform does not manage. ada creates all except the one to the ClusterRole `view`.
OWN = (
    binding("back-door", ADA),
    binding("held", ADA, finalizers=["ada.example/hold"]),
    binding("robot", ROBOT),
    binding("shared", ADA, ABE),
    binding("shared-view", ADA, ABE, kind="ClusterRole", role="view"),
    binding("neds", NED),
)


@pytest.fixture(scope="module")
def ada(running_platform: Platform) -> Iterator[Person]:
    """An admin of the tenant.

    The admin has created RoleBindings and a Secret with a token, to keep access later.
    """
    running_platform.ensure_started()
    running_platform.apply(MANIFEST)
    running_platform.await_active(MANIFEST)
    ada = Person.named(running_platform.admin_kubeconfig, "ada")
    eventually(lambda: ada.refusal(PROBE) == "", "ada may write in the namespace")
    # An administrator creates the RoleBinding to the ClusterRole `view`, because it grants rights that ada
    # lacks.
    root = Person.named(running_platform.admin_kubeconfig, "root", "system:masters")
    for attempt in OWN:
        (root if "view" in attempt.body["metadata"]["name"] else ada).do(attempt)
    find_account = partial(root.get, SERVICE_ACCOUNT, "default", NAMESPACE)
    eventually(find_account, "Kubernetes has created the service account of the token")
    account = {"kubernetes.io/service-account.name": "default"}
    token = create(
        SECRET, "token", NAMESPACE, annotations=account, type="kubernetes.io/service-account-token"
    )
    ada.do(token)
    elsewhere = binding("elsewhere", ADA, namespace=OTHER, kind="ClusterRole", role="view")
    root.do(elsewhere)
    yield ada
    root.do(elsewhere.deletion)
    running_platform.verify_and_abandon([MANIFEST])


def shown(platform: Platform) -> str:
    environment = {**platform.environment, "KUBECONFIG": str(platform.admin_kubeconfig)}
    return " ".join(run_tenancy("show", "ousted", environment=environment).stdout.split())


def subjects(platform: Platform) -> dict[str, list[str]]:
    """The names of the subjects in each RoleBinding that is not managed."""
    bindings = platform.admin.list(ROLE_BINDING, "!tenant.platform.ai/managed", namespace=NAMESPACE)[0]
    return {each["metadata"]["name"]: [subject["name"] for subject in each["subjects"]] for each in bindings}


def test_removed_admin_keeps_no_access_by_an_own_role_binding(platform: Platform, ada: Person) -> None:
    text = shown(platform)
    assert f"{NAMESPACE} back-door Role tenant-admin User ada" in text
    assert f"{NAMESPACE} shared-view ClusterRole view User ada, User abe" in text
    assert f"{NAMESPACE} token default" in text

    # Simulate a watcher that was killed in the middle: the update has changed the managed RoleBinding, and
    # the other RoleBindings still exist.
    platform.kill()
    platform.apply({**MANIFEST, "spec": WITHOUT})
    platform.patch("RoleBinding", NAMESPACE, "tenant-admin", {"subjects": [ABE]})
    assert ada.refusal(PROBE) == ""
    platform.start()

    expected = {"shared": ["abe"], "neds": ["ned"]}
    eventually(lambda: subjects(platform) == expected, lambda: f"RoleBindings are {subjects(platform)}")
    eventually(lambda: "cannot create" in ada.refusal(PROBE), "ada may not write in the namespace")
    assert platform.admin.get(ROLE_BINDING, "elsewhere", OTHER) is not None
    (message,) = [text for reason, text in platform.events("ousted") if reason == "AccessRemoved"]
    for part in ("back-door (User ada)", f"robot (ServiceAccount {NAMESPACE}/robot)", "tenancy show ousted"):
        assert part in message
    known = {"User abe", "User ned"}
    eventually(
        lambda: {f"{each['kind']} {each['name']}" for each in status(platform)["subjects"]} == known,
        lambda: f"the status has only the subjects of the spec: {status(platform)}",
    )


def status(platform: Platform) -> Manifest:
    tenant: Manifest = platform.tenant(MANIFEST) or {}
    known: Manifest = tenant.get("status", {})
    return known

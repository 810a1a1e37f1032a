"""Runs the checks of `tenancy prove` on one tenant, and removes protections from the cluster."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from cli.connection import Connection
from cli.prove.facts import ClusterFacts
from cli.prove.run import run_checks
from cluster.attempts import Attempts
from cluster.errors import ClusterError
from tenancy.base.kinds import (
    CRD,
    DISRUPTION_BUDGET,
    JOB,
    NAMESPACE,
    POD,
    POLICY_BINDING,
    RBAC_GROUP,
    TENANTS,
    Kind,
    kind_of,
)
from tenancy.base.manifest import Manifest
from tenancy.isolation import requests
from tenancy.isolation.check import Check, Layer, NotApplicable, Protection
from tenancy.isolation.comparison import Problems, shipped_policies
from tenancy.isolation.evaluation import Outcome, Result, attempt_outcome
from tenancy.isolation.requests import PRIORITY_CLASS, RUNTIME_CLASS, pod_spec
from tenancy.isolation.target import Target, actors
from tenancy.spec.crd import crds
from tests.platform import Platform
from tests.waiting import eventually

CLUSTER_ROLE = Kind(f"{RBAC_GROUP}/v1", "ClusterRole", "clusterroles", False)
CLUSTER_ROLE_BINDING = Kind(f"{RBAC_GROUP}/v1", "ClusterRoleBinding", "clusterrolebindings", False)
WRITER = "proof-writer"
# Kinds of other projects. Some checks create objects of these kinds.
TRAFFIC_KINDS = (
    *(requests.GATEWAY, requests.HTTP_ROUTE, requests.LISTENER_SET, requests.TCP_ROUTE),
    *(requests.VIRTUAL_SERVICE, requests.DESTINATION_RULE),
    *(requests.SERVICE_ENTRY, requests.WORKLOAD_ENTRY),
)
PEOPLE: dict[str, Any] = {
    "adminUsers": ["proof-admin"],
    "rbacConfig": {"serviceAccounts": ["boss"]},
    "access": [
        {"kind": "User", "name": "proof-operator", "role": "operator"},
        {"kind": "Group", "name": "proof-viewers", "role": "viewer"},
    ],
}


def create(platform: Platform, kind: Kind, name: str, namespace: str = "", **body: Any) -> None:
    """Create an object. `annotations` are written to the object's metadata."""
    metadata: Manifest = {"name": name, **({"namespace": namespace} if namespace else {})}
    metadata |= {key: body.pop(key) for key in ("annotations",) if key in body}
    platform.admin.create(
        kind, {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **body}
    )


def create_crd(platform: Platform, kind: Kind) -> None:
    """Create a CRD whose schema accepts any field. Waits until the API server serves the kind."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    name = kind.api_version.rpartition("/")[2]
    version = {"name": name, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {
        "group": kind.group,
        "names": {"kind": kind.kind, "plural": kind.plural},
        "scope": "Namespaced" if kind.is_namespaced else "Cluster",
        "versions": [version],
    }
    approval = {"api-approved.kubernetes.io": "unapproved, for tests"}
    create(platform, CRD, kind.crd, annotations=approval, spec=spec)

    def is_served() -> bool:
        try:
            return platform.admin.list(kind)[0] == []
        except ClusterError:
            return False

    eventually(is_served, f"{kind.plural} are served")


@contextmanager
def writer_of_tenants(platform: Platform) -> Iterator[None]:
    """Create a user whose only right is to write Tenants."""
    verbs = ["get", "create", "patch", "delete"]
    rules = [{"apiGroups": [kind.group], "resources": ["tenants"], "verbs": verbs} for kind in TENANTS]
    create(platform, CLUSTER_ROLE, WRITER, rules=rules)
    _bind(platform, WRITER, WRITER, {"apiGroup": RBAC_GROUP, "kind": "User", "name": WRITER})
    try:
        yield
    finally:
        platform.admin.delete(CLUSTER_ROLE_BINDING, WRITER)
        platform.admin.delete(CLUSTER_ROLE, WRITER)


def _bind(platform: Platform, name: str, role: str, *subjects: Manifest) -> None:
    role_ref = {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": role}
    create(platform, CLUSTER_ROLE_BINDING, name, roleRef=role_ref, subjects=list(subjects))


@dataclass
class Proof:
    """Runs the checks of one tenant in this process."""

    platform: Platform
    manifest: Manifest

    @property
    def facts(self) -> ClusterFacts:
        return ClusterFacts(Connection(self.platform.admin_kubeconfig))

    @property
    def live(self) -> Manifest:
        live = self.platform.tenant(self.manifest)
        assert live is not None
        return live

    @cached_property
    def target(self) -> Target:
        """The tenant. It is read only once, because the tests do not change its spec."""
        return self.facts.target(self.live)[0]

    def problems(self) -> Problems:
        """The protections that are missing in the cluster or that were changed."""
        return self.facts.target(self.live)[1]

    def results(self) -> dict[str, Result]:
        connection = Connection(self.platform.admin_kubeconfig)
        report = run_checks(ClusterFacts(connection), Attempts(connection.transport), self.live, WRITER)
        return {result.id: result for result in report.results}

    def failed(self) -> set[str]:
        return {each.id for each in self.results().values() if each.outcome is Outcome.FAILED}

    def attempts(self, *checks: Check) -> dict[str, tuple[Outcome, str]]:
        """The outcomes of the checks' requests alone. Skips checks that do not apply to the tenant."""
        facts = self.facts
        target = replace(self.target, classes=facts.classes)
        users = actors(target.desired, WRITER)
        sender = Attempts(Connection(self.platform.admin_kubeconfig).transport)
        outcomes = {}
        for check in checks:
            if check.attempt is None:
                continue
            seen = facts.seen_by(target, actor := users[check.role])
            with suppress(NotApplicable):
                answer = sender.answer(actor, check.attempt(seen))
                outcomes[check.id] = attempt_outcome(check, seen, answer)
        return outcomes

    @contextmanager
    def without(self, *protections: Protection) -> Iterator[None]:
        """Remove the protections from the cluster. On exit, restore them. The tenant must be paused."""
        restores: list[Callable[[], object]] = []
        try:
            for protection in protections:
                restores += self._remove(protection)
            yield
        finally:
            for restore in restores:
                restore()

    def _remove(self, protection: Protection) -> list[Callable[[], object]]:
        """Remove one protection. Returns functions that restore the protection."""
        admin, desired = self.platform.admin, self.target.desired
        namespaces = [desired.by_key[key] for key in desired.by_key if key.kind == NAMESPACE.key]
        match protection.layer:
            case Layer.POLICY:
                bindings = [
                    each
                    for each in shipped_policies()
                    if each["kind"] == POLICY_BINDING.kind and each["spec"]["policyName"] == protection.name
                ]
                for binding in bindings:
                    admin.delete(POLICY_BINDING, binding["metadata"]["name"])
                return [lambda each=each: admin.apply(each) for each in bindings]  # type: ignore[misc]
            case Layer.POD_SECURITY:
                labels = {"pod-security.kubernetes.io/enforce": None}
                for namespace in namespaces:
                    admin.patch(NAMESPACE, namespace["metadata"]["name"], {"metadata": {"labels": labels}})
                return [lambda each=each: admin.apply(each) for each in namespaces]  # type: ignore[misc]
            case Layer.RBAC:
                groups = ["proof-viewers"]
                users = ["proof-admin", "proof-operator", "tenancy-prove"]
                subjects = [
                    *({"apiGroup": RBAC_GROUP, "kind": "User", "name": name} for name in users),
                    *({"apiGroup": RBAC_GROUP, "kind": "Group", "name": name} for name in groups),
                ]
                _bind(self.platform, "proof-everything", "cluster-admin", *subjects)
                return [lambda: admin.delete(CLUSTER_ROLE_BINDING, "proof-everything")]
            case Layer.SCHEMA:
                path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/rbacConfig"
                anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                name = TENANTS[0].crd
                admin.patch(CRD, name, [{"op": "replace", "path": path, "value": anything}])
                shipped = next(crd for crd in crds() if crd["metadata"]["name"] == name)
                schema = shipped["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
                value = schema["properties"]["spec"]["properties"]["rbacConfig"]
                return [lambda: admin.patch(CRD, name, [{"op": "replace", "path": path, "value": value}])]
        if protection.name == NAMESPACE.key:
            return self._remove(Protection(Layer.POD_SECURITY, "baseline"))
        name = protection.name.rpartition(" ")[2]
        objects = [
            manifest
            for key, manifest in desired.by_key.items()
            if key.name == name
            and (protection.layer is not Layer.OBJECT or protection.name.startswith(key.kind))
        ]
        for manifest in objects:
            metadata = manifest["metadata"]
            admin.delete(kind_of(manifest), metadata["name"], metadata["namespace"])
        return [lambda each=each: admin.apply(each) for each in objects]  # type: ignore[misc]


@contextmanager
def every_check_applies(proof: Proof) -> Iterator[None]:
    """Create the objects that some checks need: running workloads, classes, and CRDs."""
    platform, target = proof.platform, proof.target
    namespace, spec = target.namespace, pod_spec(target)
    create(platform, PRIORITY_CLASS, "proof-high", value=10)
    create(platform, RUNTIME_CLASS, "proof-raw", handler="raw")
    for kind in TRAFFIC_KINDS:
        create_crd(platform, kind)
    eventually(
        lambda: platform.admin.get(Kind("v1", "ServiceAccount", "serviceaccounts"), "default", namespace),
        f"ServiceAccount default exists in {namespace}",
    )
    create(platform, POD, "running", namespace, spec=spec)
    template = {"spec": {**spec, "restartPolicy": "Never"}}
    create(platform, JOB, "running", namespace, spec={"suspend": True, "template": template})
    selector = {"matchLabels": {"app": "none"}}
    create(
        platform, DISRUPTION_BUDGET, "running", namespace, spec={"maxUnavailable": 1, "selector": selector}
    )
    try:
        yield
    finally:
        platform.admin.delete(PRIORITY_CLASS, "proof-high")
        platform.admin.delete(RUNTIME_CLASS, "proof-raw")
        for kind in TRAFFIC_KINDS:
            platform.admin.delete(CRD, kind.crd)
        for kind in (POD, JOB, DISRUPTION_BUDGET):
            platform.admin.delete(kind, "running", namespace)

"""Checks the API server, the CRDs, the watcher's permissions and the admission policies.

The checks compare the live objects with the manifests that this version of tenancy installs. Defaults that
the API server adds do not count as differences.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from cli.connection import Connection
from cli.doctor.finding import CheckResult, failed, ok
from cli.rights.permissions import Right
from cluster.client import Cluster
from cluster.served_kinds import is_established
from tenancy.admission.manifests import admission_manifests
from tenancy.base.kinds import CRD, kind_of
from tenancy.base.manifest import Manifest, ObjectKey, object_key
from tenancy.base.platform_names import WATCHER_USER
from tenancy.drift import field_differences
from tenancy.isolation.comparison import policy_differences
from tenancy.platform.crd_guard import crd_guard
from tenancy.platform.watcher_rights import watcher_rbac
from tenancy.spec.crd import crds

# The first Kubernetes version with a stable ValidatingAdmissionPolicy API.
_OLDEST_VERSION: Final = (1, 30)
_CRD_FIX: Final = "tenancy crd | kubectl apply --server-side --force-conflicts -f -"
# Without --refresh, Pulumi compares only with its state, and does not notice changes to the live objects.
PLATFORM_FIX: Final = "pulumi up --refresh --stack platform"


def check_server(connection: Connection) -> list[CheckResult]:
    return [version_finding(connection.cluster.version())]


def version_finding(version: Manifest) -> CheckResult:
    # Some managed clusters report a minor version with a suffix, such as `30+`.
    numbers = tuple(int(re.sub(r"\D", "", version[part]) or 0) for part in ("major", "minor"))
    git_version = version["gitVersion"]
    if numbers < _OLDEST_VERSION:
        needed = ".".join(map(str, _OLDEST_VERSION))
        return failed(
            "API server",
            f"has version {git_version}, but admission policies need {needed} or newer: upgrade the cluster",
        )
    return ok("API server", f"reachable, version {git_version}")


def check_crds(connection: Connection) -> list[CheckResult]:
    return [_crd_finding(connection.cluster, crd) for crd in crds()]


def check_rights_of_watcher(connection: Connection) -> list[CheckResult]:
    shipped = watcher_rbac()
    return _findings("watcher's rights", shipped, _differences(connection.cluster, shipped))


def check_admission(connection: Connection) -> list[CheckResult]:
    shipped = admission_policies()
    live = [
        manifest
        for each in shipped
        if (manifest := connection.cluster.get(kind_of(each), each["metadata"]["name"]))
    ]
    return _findings("admission", shipped, policy_differences(shipped, live))


def admission_policies() -> list[Manifest]:
    return [*crd_guard(), *admission_manifests(WATCHER_USER)]


def rights_to_get(manifests: Iterable[Manifest]) -> tuple[Right, ...]:
    """The rights that a user needs to get these objects from the cluster."""
    keys = [(kind_of(manifest), manifest["metadata"]) for manifest in manifests]
    return tuple(Right("get", kind, meta.get("namespace", ""), meta["name"]) for kind, meta in keys)


def _crd_finding(cluster: Cluster, crd: Manifest) -> CheckResult:
    name = crd["metadata"]["name"]
    subject = f"CRD {name}"
    live = cluster.get(CRD, name)
    if live is None:
        return failed(subject, "is not installed", _CRD_FIX)
    if not is_established(live):
        return failed(subject, "is not established", f"kubectl describe crd {name}")
    shipped_schemas, live_schemas = (_schemas(manifest) for manifest in (crd, live))
    if shipped_schemas != live_schemas or (path := _first_difference(crd, live)):
        path = "spec.versions[0].schema" if shipped_schemas != live_schemas else path
        return failed(subject, f"is from another version of tenancy: {path} differs", _CRD_FIX)
    return ok(subject, "is established and up to date")


def _schemas(crd: Manifest) -> list[Any]:
    """The schemas of all versions in the CRD.

    The caller compares the whole schemas. So an additional field in the live schema counts as a difference.
    """
    return [version.get("schema") for version in crd["spec"]["versions"]]


def _differences(cluster: Cluster, shipped: Iterable[Manifest]) -> dict[ObjectKey, str]:
    """The objects in `shipped` that are missing or changed in the cluster.

    The value is the path of the first field that differs. It is empty if the object is missing.
    """
    differences: dict[ObjectKey, str] = {}
    for manifest in shipped:
        key = object_key(manifest)
        live = cluster.get(kind_of(manifest), key.name, key.namespace)
        if live is None:
            differences[key] = ""
        elif path := _first_difference(manifest, live):
            differences[key] = path
    return differences


def _findings(
    subject: str, shipped: list[Manifest], differences: Mapping[ObjectKey, str]
) -> list[CheckResult]:
    findings = []
    for manifest in shipped:
        key = object_key(manifest)
        if key not in differences:
            continue
        if path := differences[key]:
            # Pulumi does not remove list items that another client has added, so delete the object first.
            fix = f"{_delete_command(manifest)} && {PLATFORM_FIX}"
            findings.append(failed(subject, f"{key}: {path} differs from the manifest of this version", fix))
        else:
            findings.append(failed(subject, f"{key} does not exist", PLATFORM_FIX))
    return findings or [ok(subject, f"{len(shipped)} objects match this version of tenancy")]


def _delete_command(manifest: Manifest) -> str:
    kind, metadata = kind_of(manifest), manifest["metadata"]
    namespace = f" -n {metadata['namespace']}" if "namespace" in metadata else ""
    return f"kubectl{namespace} delete {kind.resource} {metadata['name']}"


def _first_difference(shipped: Manifest, live: Manifest) -> str | None:
    """The path of the first field of `shipped` that has another value in `live`. None if no field differs.

    An additional RBAC rule or subject in the live object also counts as a difference.
    """
    return next((path for path, _, _ in field_differences(shipped, live)), None)

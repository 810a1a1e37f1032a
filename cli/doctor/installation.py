"""Checks of what is installed: the API server, the CRDs, the watcher's rights, the admission policies.

Each is compared with what this version ships. What the server fills in beside it counts as equal.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from cli.connection import Connection
from cli.doctor.finding import Finding, failed, ok
from cluster.client import Cluster
from cluster.served_kinds import is_established
from tenancy.admission.manifests import admission_manifests
from tenancy.base.kinds import CRD, kind_of
from tenancy.base.manifest import Manifest, object_key
from tenancy.base.platform_names import SYSTEM_NAMESPACE, WATCHER
from tenancy.drift import field_differences
from tenancy.platform.crd_guard import crd_guard
from tenancy.platform.watcher_rights import watcher_rbac
from tenancy.spec.crd import crds

# The first Kubernetes with ValidatingAdmissionPolicy in its stable API.
_OLDEST: Final = (1, 30)
_CRD_FIX: Final = "tenancy crd | kubectl apply --server-side --force-conflicts -f -"
# With a refresh: what was changed behind Pulumi's back is not seen without.
PLATFORM_FIX: Final = "pulumi up --refresh --stack platform"


def check_server(connection: Connection) -> list[Finding]:
    return [version_finding(connection.cluster.version())]


def version_finding(version: Manifest) -> Finding:
    # Some servers say `30+`.
    numbers = tuple(int(re.sub(r"\D", "", version[part]) or 0) for part in ("major", "minor"))
    told = version["gitVersion"]
    if numbers < _OLDEST:
        needed = ".".join(map(str, _OLDEST))
        return failed("API server", f"is {told}; admission policies need {needed} or newer: upgrade it")
    return ok("API server", f"answers, and is {told}")


def check_crds(connection: Connection) -> list[Finding]:
    return [_crd_finding(connection.cluster, crd) for crd in crds()]


def check_rights_of_watcher(connection: Connection) -> list[Finding]:
    return _compared(connection.cluster, "watcher's rights", watcher_rbac(), _differs)


def check_admission(connection: Connection) -> list[Finding]:
    shipped = [*crd_guard(), *admission_manifests(f"system:serviceaccount:{SYSTEM_NAMESPACE}:{WATCHER}")]
    return _compared(connection.cluster, "admission", shipped, _lacks)


def _crd_finding(cluster: Cluster, crd: Manifest) -> Finding:
    name = crd["metadata"]["name"]
    subject = f"CRD {name}"
    live = cluster.get(CRD, name)
    if live is None:
        return failed(subject, "is not there", _CRD_FIX)
    if not is_established(live):
        return failed(subject, "is not established", f"kubectl describe crd {name}")
    shipped, served = (_schema(version) for version in (crd, live))
    if shipped != served or (where := _lacks(crd, live)):
        where = "spec.versions[0].schema" if shipped != served else where
        return failed(subject, f"is another version's: {where} differs from what this one ships", _CRD_FIX)
    return ok(subject, "is established, and this version's")


def _schema(crd: Manifest) -> list[Any]:
    """All of it counts: a field too many is another version's, too."""
    return [version.get("schema") for version in crd["spec"]["versions"]]


def _compared(cluster: Cluster, subject: str, shipped: list[Manifest], difference: Any) -> list[Finding]:
    found = []
    for manifest in shipped:
        key = object_key(manifest)
        live = cluster.get(kind_of(manifest), key.name, key.namespace)
        if live is None:
            found.append(failed(subject, f"{key} is not there", PLATFORM_FIX))
        elif where := difference(manifest, live):
            # Made anew: of a list, Pulumi neither sees nor removes what others have added.
            fix = f"{_deletion(manifest)} && {PLATFORM_FIX}"
            found.append(failed(subject, f"{key}: {where} is not what this version ships", fix))
    return found or [ok(subject, f"{len(shipped)} objects are as this version ships them")]


def _deletion(manifest: Manifest) -> str:
    kind, metadata = kind_of(manifest), manifest["metadata"]
    place = f" -n {metadata['namespace']}" if "namespace" in metadata else ""
    return f"kubectl{place} delete {kind.plural}{'.' + kind.group if kind.group else ''} {metadata['name']}"


def _differs(shipped: Manifest, live: Manifest) -> str | None:
    """Where all that stands must be ours."""
    return next((path for path, _, _ in field_differences(shipped, live)), None)


def _lacks(shipped: Any, live: Any, path: str = "") -> str | None:
    """The first field that does not read back as we set it; empty and absent are the same."""
    if isinstance(shipped, Mapping):
        inner = (
            (f"{path}.{key}" if path else key, value, (live or {}).get(key)) for key, value in shipped.items()
        )
    elif isinstance(shipped, list) and len(shipped) == len(live or []):
        inner = ((f"{path}[{index}]", value, live[index]) for index, value in enumerate(shipped))
    else:
        return None if shipped == live or (not shipped and not live) else path
    return next((found for where, value, other in inner if (found := _lacks(value, other, where))), None)

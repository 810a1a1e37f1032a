"""Keeps each version of a Tenant's spec in memory until the Tenant's status lists this version.

Users can change a spec several times while `pulumi up` is running, but the next reconcile reads only the
newest version. Without this module, the history would lack the other versions and their authors.
"""

import threading

from tenancy.base.manifest import Manifest
from tenancy.history.spec_changes import SeenVersion, changes_in, noted_changes, with_changes
from watcher.reconciler.status_change import now_text


class SeenSpecs:
    """The versions of each Tenant that the Tenant's status does not list yet. Thread-safe."""

    def __init__(self) -> None:
        self._versions: dict[str, list[SeenVersion]] = {}
        self._guard = threading.Lock()

    def notice(self, before: Manifest | None, after: Manifest | None) -> None:
        """Keep the Tenant `after` if its generation differs from the generation of `before`.

        `before` and `after` are the Tenant before and after a change. `after` is None if the Tenant was
        deleted. The method then forgets all versions of the Tenant.
        """
        with self._guard:
            if after is None:
                self._versions.pop((before or {"metadata": {"uid": ""}})["metadata"]["uid"], None)
            elif before is None or _generation(before) != _generation(after):
                uid = after["metadata"]["uid"]
                is_same_object = before is not None and before["metadata"]["uid"] == uid
                versions = self._versions.setdefault(uid, [])
                # When a watcher takes over, it can receive the newest version twice.
                if not versions or _generation(versions[-1][1]) != _generation(after):
                    versions.append((before if is_same_object else None, after))

    def noted(self, tenant: Manifest) -> Manifest:
        """A copy of the Tenant with a status that lists all known changes to the spec.

        This method does not write the status to the API server.
        """
        uid = tenant["metadata"]["uid"]
        written = changes_in(tenant.get("status"))
        newest = written[-1].generation if written else 0
        with self._guard:
            versions = self._versions.get(uid, [])
            versions[:] = [seen for seen in versions if _generation(seen[1]) > newest]
            unwritten = tuple(versions)
        changes = noted_changes(tenant, unwritten, now_text())
        return {**tenant, "status": with_changes(tenant.get("status") or {}, changes)}


def _generation(tenant: Manifest) -> int:
    generation: int = tenant["metadata"]["generation"]
    return generation

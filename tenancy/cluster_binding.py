"""Binds a cluster and a state backend to each other.

The backend records the cluster (`stacks.ownership.cluster_record`). Without this record, two clusters could
use the same stacks. The Lease of the watcher records the backend. Without this record, a watcher with another
backend could take over, for example the watcher of `./dev run --cluster`.
"""

import json
from typing import Final

from tenancy.base.manifest import Manifest
from tenancy.base.model import StoredModel
from tenancy.base.platform_names import BACKEND_ANNOTATION

# The output of the stack `cluster` that contains the UID of the namespace kube-system.
CLUSTER_ID: Final = "clusterId"
CLAIM_COMMAND: Final = "tenancy state claim"


class Backend(StoredModel):
    """A state backend: its ID and its URL without credentials. The ID is empty until a cluster uses it."""

    id: str = ""
    url: str = ""

    def is_same(self, other: "Backend") -> bool:
        """Whether both are the same backend. A backend that was moved has another URL, but the same ID.

        If the content of a backend is lost, it has no ID or another one, but the same URL.
        """
        return self.url == other.url or (self.id == other.id != "")


def other_cluster_problem(recorded: str, current: str) -> str:
    return (
        f"the state backend belongs to another cluster: it records the cluster {recorded}, but this cluster "
        f"is {current} (UIDs of the namespace kube-system). Use another backend. If this cluster replaces "
        f"the other one, stop the watcher of the other cluster, and run `{CLAIM_COMMAND}`"
    )


def other_backend_problem(recorded: Backend, own: Backend) -> str:
    return (
        f"the stacks of this cluster are in the state backend {recorded.url}, but this watcher uses "
        f"{own.url}. Use the same backend. If this backend replaces the other one, run `{CLAIM_COMMAND}`"
    )


def backend_of(lease: Manifest | None) -> Backend | None:
    """The backend that the Lease records. None if it records no backend."""
    text = ((lease or {"metadata": {}})["metadata"].get("annotations") or {}).get(BACKEND_ANNOTATION)
    try:
        return Backend.model_validate_json(text) if text else None
    except ValueError:
        return None


def backend_annotation(backend: Backend) -> str:
    return json.dumps(backend.model_dump(by_alias=True, mode="json"))

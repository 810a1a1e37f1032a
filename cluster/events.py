"""Creates Kubernetes Events about a Tenant, an AISession or the plans."""

from datetime import UTC, datetime
from typing import Final

import structlog

from cluster.client import Cluster
from cluster.errors import ClusterError
from tenancy.base.kinds import EVENT
from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import EVENT_NAMESPACE

log = structlog.get_logger(__name__)

NORMAL: Final = "Normal"
WARNING: Final = "Warning"
_MESSAGE_MAX_LENGTH: Final = 1000
# The name of an Event is the name of the object and a suffix. Together they have at most 253 characters.
_NAME_MAX_LENGTH: Final = 230
_REFERENCE_FIELDS: Final = ("namespace", "name", "uid", "resourceVersion")


def record_event(cluster: Cluster, involved: Manifest, severity: str, reason: str, message: str) -> None:
    """Create an Event about the object `involved`. If the request fails, log the error, but do not raise it.

    `severity` is the type of the Event: `Normal` or `Warning`.
    """
    now = datetime.now(UTC)
    metadata = involved["metadata"]
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": f"{metadata['name'][:_NAME_MAX_LENGTH].rstrip('-.')}.{int(now.timestamp() * 1e6):x}",
            "namespace": metadata.get("namespace", EVENT_NAMESPACE),
        },
        "involvedObject": {
            "apiVersion": involved["apiVersion"],
            "kind": involved["kind"],
            **{field: metadata[field] for field in _REFERENCE_FIELDS if field in metadata},
        },
        "type": severity,
        "reason": reason,
        "message": message[:_MESSAGE_MAX_LENGTH],
        "source": {"component": "tenancy-watcher"},
        "firstTimestamp": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "lastTimestamp": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "count": 1,
    }
    try:
        cluster.create(EVENT, event)
    except ClusterError as error:
        log.warning("event not written", about=metadata["name"], reason=reason, problem=str(error))

"""The audit log of the API server. It contains all requests by the watcher and by its Pulumi processes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tenancy.base.platform_names import WATCHER_USER

_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [{"level": "Metadata", "users": [WATCHER_USER]}, {"level": "None"}],
}


class Request(NamedTuple):
    """A request with the attributes that the RBAC authorizer checks. `resource` includes the subresource."""

    group: str
    resource: str
    verb: str
    namespace: str
    name: str
    status: int

    def __str__(self) -> str:
        resource = f"{self.resource}.{self.group}" if self.group else self.resource
        where = f" in {self.namespace}" if self.namespace else ""
        return f"{self.verb} {resource}{where}"


class AuditLog:
    """The audit log in this folder. `flags` are the flags of the API server that enable the log."""

    def __init__(self, folder: Path) -> None:
        policy = folder / "audit-policy.json"
        policy.write_text(json.dumps(_POLICY))
        self._file = folder / "audit.log"
        self.flags = (f"--audit-policy-file={policy}", f"--audit-log-path={self._file}")

    def size(self) -> int:
        return self._file.stat().st_size

    def requests(self, since: int = 0) -> Iterator[Request]:
        """The requests after the position `since`, which is an earlier value of `size`."""
        with self._file.open("rb") as file:
            file.seek(since)
            # If the last line has no newline, the API server is still writing this line.
            for line in file.read().rpartition(b"\n")[0].splitlines():
                event = json.loads(line)
                if "objectRef" in event:
                    yield from _requests(event)


def _requests(event: dict[str, Any]) -> Iterator[Request]:
    target = event["objectRef"]
    resource = "/".join(filter(None, (target["resource"], target.get("subresource"))))
    status = event["responseStatus"]["code"]
    place = target.get("namespace", ""), target.get("name", "")
    group = target.get("apiGroup", "")
    yield Request(group, resource, event["verb"], *place, status)
    # If server-side apply creates an object, the API server also checks the verb `create`.
    if event["verb"] == "patch" and status == 201:
        yield Request(group, resource, "create", *place, status)

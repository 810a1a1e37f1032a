"""Reads and changes objects in the cluster of the tests, with administrator access."""

from dataclasses import dataclass

from cluster.client import Cluster
from tenancy.base.kinds import CONFIG_MAP, EVENT, KIND_BY_KEY, MANAGED_KINDS, NAMESPACE
from tenancy.base.labels import TENANT_LABEL
from tenancy.base.manifest import Manifest


@dataclass(kw_only=True)
class LiveObjects:
    """The objects in a cluster. Methods select a kind by a string, as in `ObjectKey.kind`."""

    admin: Cluster

    def objects(self, tenant: str) -> dict[tuple[str, str, str], Manifest]:
        """The objects with the tenant's label, keyed by kind, namespace and name."""
        return {
            (kind.kind, item["metadata"].get("namespace", ""), item["metadata"]["name"]): item
            for kind in MANAGED_KINDS
            for item in self.admin.list(kind, f"{TENANT_LABEL}={tenant}")[0]
        }

    def events(self, tenant: str) -> list[tuple[str, str]]:
        """The reason and the message of each Event about the Tenant."""
        return [
            (event["reason"], event["message"])
            for event in self.admin.list(EVENT)[0]
            # `involvedObject.name` is optional.
            if event["involvedObject"].get("name") == tenant
        ]

    def get(self, kind: str, namespace: str, name: str) -> Manifest | None:
        return self.admin.get(KIND_BY_KEY[kind], name, namespace)

    def patch(self, kind: str, namespace: str, name: str, change: Manifest) -> None:
        self.admin.patch(KIND_BY_KEY[kind], name, change, namespace=namespace)

    def remove(self, kind: str, namespace: str, name: str) -> None:
        self.admin.delete(KIND_BY_KEY[kind], name, namespace)

    def namespace(self, name: str) -> Manifest | None:
        return self.admin.get(NAMESPACE, name)

    def workload(self, namespace: str) -> Manifest:
        """The ConfigMap that the fixture `existing` has created in the namespace."""
        config_map = self.admin.get(CONFIG_MAP, "workload", namespace)
        assert config_map is not None
        return config_map

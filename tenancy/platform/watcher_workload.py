"""The watcher's workload, its Service, and the ConfigMap with the plans.

With a file backend, the watcher is a StatefulSet with one pod and a volume. With other backends, it is a
Deployment with two pods. One of them is the leader, and the other one takes over if the leader fails.
"""

from collections.abc import Sequence
from typing import Any, Final

from tenancy.base.manifest import Manifest
from tenancy.base.platform_names import (
    HTTP_PORT,
    HTTP_PORT_NAME,
    PLANS_CONFIG_MAP,
    PLANS_KEY,
    SYSTEM_NAMESPACE,
    WATCHER,
    WATCHER_LABELS,
)
from tenancy.platform.settings import PlatformSettings

_METADATA: Final = {"name": WATCHER, "namespace": SYSTEM_NAMESPACE, "labels": WATCHER_LABELS}
# The user ID in the image. This user owns no files in the image.
_USER: Final = 65532
_RUN_VOLUME: Final = "/run/tenancy"
_STORAGE: Final = "1Gi"
_REPLICAS: Final = 2
# The file of the usage database. It is on the volume, next to Pulumi's folder. Without a volume, the usage
# database is lost when the pod is deleted.
_USAGE_FILE: Final = "usage.db"
# The memory of the watcher, the warm engine (a process that executes Pulumi operations) and its provider.
_BASE_MEMORY_MI: Final = 512
# The memory of one Pulumi operation if the watcher cannot use the warm engine and runs the Pulumi CLI. The
# CLI and its provider are limited to 192 MiB each.
_MEMORY_PER_WORKER_MI: Final = 384


def plans_config_map(settings: PlatformSettings) -> list[Manifest]:
    if settings.plans is None:
        return []
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": PLANS_CONFIG_MAP, "namespace": SYSTEM_NAMESPACE},
            "data": {PLANS_KEY: settings.plans},
        }
    ]


def watcher_workload(settings: PlatformSettings) -> list[Manifest]:
    if settings.image is None:
        return []
    if settings.volume_folder is None:
        return [_service(), _disruption_budget(), _deployment(settings)]
    return [_service(), _stateful_set(settings, settings.volume_folder)]


def _service() -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _METADATA,
        "spec": {
            "clusterIP": "None",
            "selector": WATCHER_LABELS,
            "ports": [{"name": HTTP_PORT_NAME, "port": HTTP_PORT, "targetPort": HTTP_PORT_NAME}],
        },
    }


def _stateful_set(settings: PlatformSettings, volume_folder: str) -> Manifest:
    claim: dict[str, Any] = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": settings.storage or _STORAGE}},
    }
    if settings.storage_class is not None:
        claim["storageClassName"] = settings.storage_class
    mount = {"name": "state", "mountPath": volume_folder}
    spec = {
        # The volume can be mounted by one pod only.
        "replicas": 1,
        "serviceName": WATCHER,
        "selector": {"matchLabels": WATCHER_LABELS},
        "template": {"metadata": {"labels": WATCHER_LABELS}, "spec": _pod(settings, mount)},
        "volumeClaimTemplates": [{"metadata": {"name": "state"}, "spec": claim}],
    }
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": _METADATA, "spec": spec}


def _deployment(settings: PlatformSettings) -> Manifest:
    on_other_node = {
        "labelSelector": {"matchLabels": WATCHER_LABELS},
        "topologyKey": "kubernetes.io/hostname",
    }
    preferred = [{"weight": 100, "podAffinityTerm": on_other_node}]
    pod = {
        **_pod(settings),
        # On a cluster with one node, both pods run on this node.
        "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}},
    }
    spec = {
        "replicas": _REPLICAS,
        "selector": {"matchLabels": WATCHER_LABELS},
        "template": {"metadata": {"labels": WATCHER_LABELS}, "spec": pod},
    }
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": _METADATA, "spec": spec}


def _disruption_budget() -> Manifest:
    """A budget that never blocks the drain of a node: one of the two pods can always be evicted.

    If a pod is not ready, it can be evicted too. Otherwise, a pod that crashes would block the drain.
    """
    spec = {
        "maxUnavailable": 1,
        "selector": {"matchLabels": WATCHER_LABELS},
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
    }
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": _METADATA, "spec": spec}


def _pod(settings: PlatformSettings, *mounts: Manifest) -> dict[str, Any]:
    return {
        "serviceAccountName": WATCHER,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "fsGroup": _USER,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(settings, mounts)],
        "volumes": [{"name": "tmp", "emptyDir": {}}, {"name": "run", "emptyDir": {}}],
    }


def _container(settings: PlatformSettings, mounts: Sequence[Manifest]) -> dict[str, Any]:
    own_mounts = [{"name": "tmp", "mountPath": "/tmp"}, {"name": "run", "mountPath": _RUN_VOLUME}]
    usage_folder = settings.volume_folder or f"{_RUN_VOLUME}/watcher"
    memory_mi = _BASE_MEMORY_MI + _MEMORY_PER_WORKER_MI * settings.workers
    return {
        "name": "watcher",
        "image": settings.image,
        "command": ["python", "-m", "watcher"],
        "args": _arguments(settings),
        "env": [
            {"name": "PULUMI_BACKEND_URL", "value": settings.backend},
            {"name": "HOME", "value": "/tmp"},
            # For the command `tenancy usage` in the pod.
            {"name": "TENANCY_USAGE_DB", "value": f"{usage_folder}/{_USAGE_FILE}"},
        ],
        "envFrom": [{"secretRef": {"name": settings.passphrase_secret}}],
        "ports": [{"name": HTTP_PORT_NAME, "containerPort": HTTP_PORT}],
        "livenessProbe": _probe("/healthz"),
        "readinessProbe": _probe("/readyz"),
        "resources": {
            "requests": {"cpu": "250m", "memory": f"{_BASE_MEMORY_MI}Mi"},
            "limits": {"cpu": str(settings.workers), "memory": f"{memory_mi}Mi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [*own_mounts, *mounts],
    }


def _arguments(settings: PlatformSettings) -> list[str]:
    arguments = [
        *("--http", f"0.0.0.0:{HTTP_PORT}"),
        # The watcher must own this folder. It does not own the root of the volume, so it uses a subfolder.
        *("--run-dir", f"{_RUN_VOLUME}/watcher"),
        *("--workers", str(settings.workers)),
        *("--keep-updates", str(settings.keep_updates)),
        *("--keep-days", str(settings.keep_days)),
    ]
    if settings.volume_folder is not None:
        arguments += ["--usage-db", f"{settings.volume_folder}/{_USAGE_FILE}"]
    if settings.plans is not None:
        arguments += ["--plans-configmap", f"{SYSTEM_NAMESPACE}/{PLANS_CONFIG_MAP}"]
    if settings.page:
        arguments.append("--page")
    if settings.protect_metrics:
        arguments.append("--protect-metrics")
    if settings.dns_isolation:
        arguments.append("--dns-isolation")
    return arguments


def _probe(path: str) -> dict[str, Any]:
    return {"httpGet": {"path": path, "port": HTTP_PORT_NAME}, "periodSeconds": 10, "timeoutSeconds": 5}

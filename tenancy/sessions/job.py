"""Builds the Job of an AISession from the session, the plans file and the tenant's settings.

The Job's pod complies with the policies of the tenant. It meets the Pod Security Standard `restricted`, has
no ServiceAccount token, and uses the tenant's node selector, runtime class and image pull policy.
"""

from typing import Any, Final

from tenancy.base.errors import NotOffered, UnknownModel
from tenancy.base.kinds import AISESSION, JOB
from tenancy.base.labels import NODE_POOL_LABEL, SESSION_LABEL, TENANT_LABEL, label_value
from tenancy.base.manifest import Manifest
from tenancy.base.names import session_job_name
from tenancy.spec.aisession import AISessionSpec, duration_s
from tenancy.spec.session_config import ModelConfig, SessionsConfig, TypeConfig
from tenancy.spec.settings import PullPolicy, TenantSettings

# The container writes the result of the session to this file. The kubelet creates the file and reads at most
# 4 KiB of it.
RESULT_FILE: Final = "/dev/termination-log"
CONTAINER: Final = "session"
# How long a finished Job is kept, so that users can read its log.
JOB_TTL_S: Final = 3600
# An arbitrary non-root user ID. Every session's container runs with it, even if its image sets no user.
_USER: Final = 65532
_MODEL_VARIABLE: Final = "AISESSION_MODEL"


def session_job(
    session: Manifest, spec: AISessionSpec, config: SessionsConfig, settings: TenantSettings
) -> Manifest:
    """The Job of this session. Raises NotOffered if `config` does not contain the session's type or model."""
    type_config, model, model_name = _selected_config(spec, config)
    name: str = session["metadata"]["name"]
    label = {SESSION_LABEL: label_value(name)}
    env = {
        **type_config.env,
        **model.env,
        "AISESSION_NAME": name,
        "AISESSION_TYPE": spec.session_type.value,
        _MODEL_VARIABLE: model_name,
        "AISESSION_RESULT_FILE": RESULT_FILE,
    }
    annotations = {**type_config.annotations, **model.annotations}
    # The pod has no tenant label. The admission policies reject platform labels on objects that a controller
    # creates from a template.
    pod_metadata = {"labels": label, **({"annotations": annotations} if annotations else {})}
    return {
        "apiVersion": JOB.api_version,
        "kind": JOB.kind,
        "metadata": {
            "name": session_job_name(name),
            "namespace": session["metadata"]["namespace"],
            "labels": {**label, TENANT_LABEL: spec.tenant_ref.name},
            "ownerReferences": [_owner(session)],
        },
        "spec": {
            "activeDeadlineSeconds": duration_s(spec.timeout),
            "backoffLimit": 0,
            "ttlSecondsAfterFinished": JOB_TTL_S,
            "template": {
                "metadata": pod_metadata,
                "spec": _pod_spec(type_config, settings, _container(spec, type_config, model, settings, env)),
            },
        },
    }


def is_job_of(job: Manifest, session: Manifest) -> bool:
    """Whether the platform created the Job for this session.

    False for the Job of an earlier session that had the same name.
    """
    # Anybody can set an owner reference, but only the platform can set the tenant label.
    tenant = (job["metadata"].get("labels") or {}).get(TENANT_LABEL)
    owners = job["metadata"].get("ownerReferences") or ()
    return tenant == session["spec"]["tenantRef"]["name"] and any(
        owner.get("controller") and owner["uid"] == session["metadata"]["uid"] for owner in owners
    )


def selected_model(job: Manifest) -> str | None:
    """The AI model of the session, from an environment variable of the Job's container.

    None if the variable is not set.
    """
    for container in job["spec"]["template"]["spec"]["containers"]:
        for variable in container.get("env") or ():
            if container["name"] == CONTAINER and variable["name"] == _MODEL_VARIABLE:
                return variable.get("value") or None
    return None


def controller_job(pod: Manifest) -> Manifest | None:
    """The owner reference to the Job that controls the pod. None if no Job controls the pod."""
    owners = pod["metadata"].get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller") and owner["kind"] == JOB.kind), None)


def owner_job(pod: Manifest) -> tuple[str, str]:
    """The namespace and UID of the Job that controls the pod. The UID is empty if no Job controls the pod."""
    owner = controller_job(pod)
    return pod["metadata"]["namespace"], owner["uid"] if owner else ""


def first_created(pods: list[Manifest]) -> Manifest | None:
    """The oldest pod of a Job. None if the Job has no pod.

    The Job controller creates only one pod for a session. Users can create more pods with an owner reference
    to the Job, but these pods are newer.
    """
    return min(pods, key=lambda pod: str(pod["metadata"]["creationTimestamp"]), default=None)


def _selected_config(spec: AISessionSpec, config: SessionsConfig) -> tuple[TypeConfig, ModelConfig, str]:
    type_config = config.types.get(spec.session_type)
    if type_config is None:
        raise NotOffered(
            f"spec.sessionType: the platform does not offer sessions of type {spec.session_type.value!r}; "
            f"ask the platform's operators to add sessions.types.{spec.session_type.value} to the plans file"
        )
    name = spec.ai_model or type_config.model
    if name not in config.models:
        known = ", ".join(sorted(config.models))
        raise UnknownModel(f"spec.aiModel: there is no model {name!r}; known: {known}")
    return type_config, config.models[name], name


def _owner(session: Manifest) -> dict[str, Any]:
    metadata = session["metadata"]
    return {
        "apiVersion": AISESSION.api_version,
        "kind": AISESSION.kind,
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": False,
    }


def _pod_spec(type_config: TypeConfig, settings: TenantSettings, container: Manifest) -> Manifest:
    spec: Manifest = {
        "restartPolicy": "Never",
        "serviceAccountName": type_config.service_account,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "fsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
    }
    if node_selector := settings.forced_node_selector():
        spec["nodeSelector"] = node_selector
    if settings.dedicated_nodes:
        spec["tolerations"] = [
            {"key": NODE_POOL_LABEL, "operator": "Equal", "value": settings.dedicated_nodes}
        ]
    if settings.runtime_classes and "" not in settings.runtime_classes:
        spec["runtimeClassName"] = settings.runtime_classes[0]
    return spec


def _container(
    spec: AISessionSpec,
    type_config: TypeConfig,
    model: ModelConfig,
    settings: TenantSettings,
    env: dict[str, str],
) -> Manifest:
    amounts = {"cpu": spec.resources.cpu, "memory": spec.resources.memory}
    container: Manifest = {
        "name": CONTAINER,
        "image": model.image or type_config.image,
        "env": [{"name": name, "value": value} for name, value in env.items()],
        "resources": {"requests": amounts, "limits": amounts},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "terminationMessagePath": RESULT_FILE,
        # Do not use the log if the file is empty, because the log may contain confidential data.
        "terminationMessagePolicy": "File",
    }
    if type_config.command:
        container["command"] = list(type_config.command)
    if type_config.args:
        container["args"] = list(type_config.args)
    allowed = settings.image_pull_policies
    if allowed:
        preferred = PullPolicy.IF_NOT_PRESENT
        container["imagePullPolicy"] = (preferred if preferred in allowed else allowed[0]).value
    return container

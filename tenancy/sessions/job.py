"""The Job that runs an AISession: made of the session, the platform's config and the tenant's settings.

Called by the watcher when a session may start. Its pod is within the walls of the namespace from the start:
restricted, without a token, on the nodes and by the pull policy that the tenant is given.
"""

from typing import Any, Final

from tenancy.base.errors import NotOffered, UnknownModel
from tenancy.base.kinds import AISESSION, JOB
from tenancy.base.manifest import Manifest
from tenancy.base.names import SESSION_LABEL, TENANT_LABEL, label_value, session_job_name
from tenancy.spec.aisession import AISessionSpec, duration_s
from tenancy.spec.session_config import ModelConfig, SessionsConfig, TypeConfig
from tenancy.spec.settings import PullPolicy, TenantSettings

# What the session writes there is its result; the kubelet makes the file, and keeps at most 4 KiB of it.
RESULT_FILE: Final = "/dev/termination-log"
CONTAINER: Final = "session"
# How long a Job stays after its end, for whoever wants to read its log.
KEPT_S: Final = 3600
# Nobody's in particular, and not root: an image may name none.
_USER: Final = 65532


def session_job(
    session: Manifest, spec: AISessionSpec, config: SessionsConfig, settings: TenantSettings
) -> Manifest:
    """NotOffered where the platform's config has no such type, or no such model."""
    kind, model, model_name = _offer(spec, config)
    name: str = session["metadata"]["name"]
    label = {SESSION_LABEL: label_value(name)}
    env = {
        **kind.env,
        **model.env,
        "AISESSION_NAME": name,
        "AISESSION_TYPE": spec.session_type.value,
        "AISESSION_MODEL": model_name,
        "AISESSION_RESULT_FILE": RESULT_FILE,
    }
    annotations = {**kind.annotations, **model.annotations}
    # The pod has no label of the tenant's: nothing that is made from a template may carry one.
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
            "ttlSecondsAfterFinished": KEPT_S,
            "template": {
                "metadata": pod_metadata,
                "spec": _pod_spec(kind, settings, _container(spec, kind, model, settings, env)),
            },
        },
    }


def is_job_of(job: Manifest, session: Manifest) -> bool:
    """Whether the Job was made for this very session, and not for a namesake or by somebody else."""
    # An owner can be named by anybody, the tenant by the platform alone.
    tenant = (job["metadata"].get("labels") or {}).get(TENANT_LABEL)
    owners = job["metadata"].get("ownerReferences") or ()
    return tenant == session["spec"]["tenantRef"]["name"] and any(
        owner.get("controller") and owner["uid"] == session["metadata"]["uid"] for owner in owners
    )


def _offer(spec: AISessionSpec, config: SessionsConfig) -> tuple[TypeConfig, ModelConfig, str]:
    kind = config.types.get(spec.session_type)
    if kind is None:
        raise NotOffered(
            f"spec.sessionType: the platform runs no sessions of type {spec.session_type.value!r} now; "
            f"its operators can add sessions.types.{spec.session_type.value} to the plans file"
        )
    name = spec.ai_model or kind.model
    if name not in config.models:
        known = ", ".join(sorted(config.models))
        raise UnknownModel(f"spec.aiModel: there is no model {name!r}; known: {known}")
    return kind, config.models[name], name


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


def _pod_spec(kind: TypeConfig, settings: TenantSettings, container: Manifest) -> Manifest:
    spec: Manifest = {
        "restartPolicy": "Never",
        "serviceAccountName": kind.service_account,
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
    if settings.node_selector:
        spec["nodeSelector"] = dict(settings.node_selector)
    if settings.runtime_classes and "" not in settings.runtime_classes:
        spec["runtimeClassName"] = settings.runtime_classes[0]
    return spec


def _container(
    spec: AISessionSpec, kind: TypeConfig, model: ModelConfig, settings: TenantSettings, env: dict[str, str]
) -> Manifest:
    amounts = {"cpu": spec.resources.cpu, "memory": spec.resources.memory}
    container: Manifest = {
        "name": CONTAINER,
        "image": model.image or kind.image,
        "env": [{"name": name, "value": value} for name, value in env.items()],
        "resources": {"requests": amounts, "limits": amounts},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "terminationMessagePath": RESULT_FILE,
        # Never the log, which may hold what is nobody else's business.
        "terminationMessagePolicy": "File",
    }
    if kind.command:
        container["command"] = list(kind.command)
    if kind.args:
        container["args"] = list(kind.args)
    allowed = settings.image_pull_policies
    if allowed:
        usual = PullPolicy.IF_NOT_PRESENT
        container["imagePullPolicy"] = (usual if usual in allowed else allowed[0]).value
    return container

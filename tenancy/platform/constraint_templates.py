"""Cluster-wide configuration of Gatekeeper and HNC: ConstraintTemplates and the HNCConfiguration.

The module `tenancy.objects.gatekeeper` defines the constraints of each tenant. The ConstraintTemplates check
only those parts of a pod that a request adds. So if a pod violates a constraint that is newer than the pod,
users can still label and delete the pod.
"""

from pathlib import Path
from typing import Any, Final

from tenancy.base.manifest import Manifest
from tenancy.objects.gatekeeper import POD_SECURITY_KIND, REGISTRIES_KIND
from tenancy.objects.hnc import API_VERSION as HNC_VERSION
from tenancy.spec.settings import PodSecurity

_REGO_FOLDER: Final = Path(__file__).parent


def constraint_templates() -> list[Manifest]:
    levels = [level.value for level in PodSecurity if level is not PodSecurity.PRIVILEGED]
    return [
        _template(
            REGISTRIES_KIND,
            "image_registries.rego",
            {
                "registries": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "Registries, or paths in registries, that images may come from.",
                }
            },
        ),
        _template(
            POD_SECURITY_KIND,
            "pod_security.rego",
            {"level": {"type": "string", "enum": levels, "description": "The Pod Security level."}},
        ),
    ]


def hnc_configuration() -> Manifest:
    """The HNCConfiguration. It controls what HNC copies from a parent namespace to its child namespaces.

    With this configuration, HNC copies a Secret or ConfigMap only if the object has an annotation such as
    `propagate.hnc.x-k8s.io/all`. A Secret usually contains the credentials of one namespace, so HNC must not
    copy Secrets by default.

    HNC copies Roles and RoleBindings by default. The HNCConfiguration cannot change this. Only an annotation
    on the object prevents the copy. So the platform annotates its own Roles and RoleBindings (see
    `hnc.without_hnc_propagation`).
    """
    modes = [{"resource": resource, "mode": "AllowPropagate"} for resource in ("configmaps", "secrets")]
    return {
        "apiVersion": HNC_VERSION,
        "kind": "HNCConfiguration",
        "metadata": {"name": "config"},
        "spec": {"resources": modes},
    }


def _template(kind: str, file: str, parameters: dict[str, Any]) -> Manifest:
    rego = (_REGO_FOLDER / file).read_text(encoding="utf-8")
    schema = {"type": "object", "required": list(parameters), "properties": parameters}
    return {
        "apiVersion": "templates.gatekeeper.sh/v1",
        "kind": "ConstraintTemplate",
        # Gatekeeper requires that the name is the kind in lower case.
        "metadata": {"name": kind.lower()},
        "spec": {
            "crd": {
                "spec": {
                    "names": {"kind": kind},
                    "validation": {"legacySchema": False, "openAPIV3Schema": schema},
                }
            },
            "targets": [
                {
                    "target": "admission.k8s.gatekeeper.sh",
                    "code": [{"engine": "Rego", "source": {"version": "v1", "rego": rego}}],
                }
            ],
        },
    }

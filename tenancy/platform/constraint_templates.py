"""What the platform tells Gatekeeper and HNC once for all tenants: constraint templates, and HNC's settings.

Pure manifests; whoever installs the platform applies them where the cluster has these projects. Tenants'
own constraints are made in `gatekeeper`. An update of a pod is only held to what it brings in: one that was
there before its constraint can still be labelled, and still end.
"""

from pathlib import Path
from typing import Any, Final

from tenancy.base.manifest import Manifest
from tenancy.objects.gatekeeper import POD_SECURITY_KIND, REGISTRIES_KIND
from tenancy.objects.hnc import API_VERSION as HNC_VERSION
from tenancy.spec.settings import PodSecurity

_RULES: Final = Path(__file__).parent


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
                    "description": "Registries, or paths in them, from which images may come.",
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
    """Nothing goes from a tenant's root down to its other namespaces but what is marked for it.

    A Secret holds one namespace's credentials, so it is copied only where its owner says so, by an
    annotation `propagate.hnc.x-k8s.io/all`; the same for a ConfigMap. HNC always copies Roles and
    RoleBindings, and refuses a configuration that names them: ours say that they stay (`hnc.staying`).
    """
    modes = [{"resource": resource, "mode": "AllowPropagate"} for resource in ("configmaps", "secrets")]
    return {
        "apiVersion": HNC_VERSION,
        "kind": "HNCConfiguration",
        "metadata": {"name": "config"},
        "spec": {"resources": modes},
    }


def _template(kind: str, file: str, parameters: dict[str, Any]) -> Manifest:
    rego = (_RULES / file).read_text(encoding="utf-8")
    schema = {"type": "object", "required": list(parameters), "properties": parameters}
    return {
        "apiVersion": "templates.gatekeeper.sh/v1",
        "kind": "ConstraintTemplate",
        # Gatekeeper takes no other name for this kind.
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

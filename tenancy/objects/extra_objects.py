"""The extra objects of one namespace, created from the `extraResources` of the plan and the tenant.

Each item of `extraResources` is a template. `tenancy.spec.extra_template` has already checked the templates.
This module replaces the placeholders. Then it checks that the name of each object is valid and unique.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tenancy.base.errors import InvalidSpec
from tenancy.base.labels import PURPOSE_LABEL, object_labels
from tenancy.base.manifest import Manifest, object_key
from tenancy.base.patterns import DNS_NAME
from tenancy.base.pulumi_signature import SIGNATURE_PROBLEM, signature_paths
from tenancy.spec.extra_template import filled_template
from tenancy.spec.namespace_spec import Purpose
from tenancy.spec.settings import TenantSettings
from tenancy.spec.tenant import TenantModel

_NAME_MAX_LENGTH: Final = 253


def extra_resources(
    tenant: TenantModel, settings: TenantSettings, namespace: Manifest, core_manifests: Sequence[Manifest]
) -> list[Manifest]:
    """The extra objects of one namespace.

    `namespace` is the desired Namespace object. `core_manifests` are the Namespace and all objects in it,
    except the extra objects. Raises InvalidSpec if the name of an extra object is invalid or already used.
    """
    values = _placeholder_values(tenant, namespace)
    used_keys = {object_key(manifest) for manifest in core_manifests}
    extra_manifests = []
    for field, template in _templates(tenant, settings):
        manifest = filled_template(template, values, field)
        metadata = manifest["metadata"]
        if not re.fullmatch(DNS_NAME, metadata["name"]) or len(metadata["name"]) > _NAME_MAX_LENGTH:
            raise InvalidSpec(f"{field}.metadata.name", f"{metadata['name']!r} is not a valid object name")
        labels = {**metadata["labels"], **object_labels(tenant.name)}
        manifest["metadata"] = {**metadata, "namespace": namespace["metadata"]["name"], "labels": labels}
        # The spec was checked for Pulumi's signature before. A replaced placeholder can complete a signature,
        # so check again.
        for path in signature_paths(manifest, field):
            raise InvalidSpec(path, SIGNATURE_PROBLEM)
        key = object_key(manifest)
        if key in used_keys:
            raise InvalidSpec(f"{field}.metadata.name", f"the tenant already has {key}; choose another name")
        used_keys.add(key)
        extra_manifests.append(manifest)
    return extra_manifests


def _templates(tenant: TenantModel, settings: TenantSettings) -> Iterator[tuple[str, Manifest]]:
    """Pairs of a field path and a template. The templates of the plan come first."""
    tenant_templates = tenant.spec.extra_resources or ()
    plan_templates = settings.extra_resources[: len(settings.extra_resources) - len(tenant_templates)]
    for root, templates in ((f"plans.{tenant.spec.plan}", plan_templates), ("spec", tenant_templates)):
        for index, template in enumerate(templates):
            yield f"{root}.extraResources[{index}]", template


def _placeholder_values(tenant: TenantModel, namespace: Manifest) -> dict[str, str]:
    labels = namespace["metadata"]["labels"]
    return {
        "${tenant.name}": tenant.name,
        "${tenant.namespace}": namespace["metadata"]["name"],
        # The default namespace has no purpose label, so its purpose is `development`.
        "${tenant.purpose}": labels.get(PURPOSE_LABEL, Purpose.DEVELOPMENT.value),
        "${tenant.plan}": tenant.spec.plan,
        **{f"${{tenant.labels[{key}]}}": value for key, value in labels.items()},
    }

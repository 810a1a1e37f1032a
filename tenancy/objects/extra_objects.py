"""The extra objects that plans and tenants add to each namespace, with the tenant's facts filled in.

Called by `desired`. What can be told without a tenant was checked when the spec or the plans file was
read, by `extra_template`; here a name may turn out to be taken, or no name at all.
"""

import re
from collections.abc import Iterator, Sequence

from tenancy.base.errors import InvalidSpec
from tenancy.base.fields import DNS_NAME
from tenancy.base.manifest import Manifest, object_key
from tenancy.base.names import PURPOSE_LABEL, object_labels
from tenancy.spec.extra_template import filled
from tenancy.spec.settings import TenantSettings
from tenancy.spec.tenant import Purpose, Tenant


def extra_resources(
    tenant: Tenant, settings: TenantSettings, home: Manifest, own: Sequence[Manifest]
) -> list[Manifest]:
    """For one namespace, given as the Namespace object `home`; `own` is what the product makes there."""
    facts = _facts(tenant, home)
    taken = {object_key(manifest) for manifest in own}
    made = []
    for field, template in _templates(tenant, settings):
        manifest = filled(template, facts, field)
        metadata = manifest["metadata"]
        if not re.fullmatch(DNS_NAME, metadata["name"]):
            raise InvalidSpec(f"{field}.metadata.name", f"{metadata['name']!r} is not an object's name")
        labels = {**metadata["labels"], **object_labels(tenant.name)}
        manifest["metadata"] = {**metadata, "namespace": home["metadata"]["name"], "labels": labels}
        key = object_key(manifest)
        if key in taken:
            raise InvalidSpec(f"{field}.metadata.name", f"{key} is made already; take another name")
        taken.add(key)
        made.append(manifest)
    return made


def _templates(tenant: Tenant, settings: TenantSettings) -> Iterator[tuple[str, Manifest]]:
    """Each template with the field it was written in: the plan's first, then the tenant's own."""
    own = tenant.spec.extra_resources or ()
    of_plan = settings.extra_resources[: len(settings.extra_resources) - len(own)]
    for root, templates in ((f"plans.{tenant.spec.plan}", of_plan), ("spec", own)):
        for index, template in enumerate(templates):
            yield f"{root}.extraResources[{index}]", template


def _facts(tenant: Tenant, home: Manifest) -> dict[str, str]:
    """What each placeholder stands for in this namespace."""
    labels = home["metadata"]["labels"]
    return {
        "${tenant.name}": tenant.name,
        "${tenant.namespace}": home["metadata"]["name"],
        # A namespace that nobody described is for what one is for by default.
        "${tenant.purpose}": labels.get(PURPOSE_LABEL, Purpose.DEVELOPMENT.value),
        "${tenant.plan}": tenant.spec.plan,
        **{f"${{tenant.labels[{key}]}}": value for key, value in labels.items()},
    }

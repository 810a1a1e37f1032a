"""The ComponentResources that declare a tenant in a Pulumi program.

`TenantResources` declares the objects of a desired state. `__main__.py` uses this class. The watcher also
uses it if the watcher runs the Pulumi CLI. `Tenant` computes the desired state from a spec. Users use
`Tenant` in their own Pulumi programs.
"""

import re
from collections.abc import Mapping
from typing import Final

import pulumi

from tenancy.base.errors import InvalidSpec
from tenancy.base.manifest import Manifest, ObjectKey
from tenancy.base.names import DNS_LABEL_PATTERN
from tenancy.decision import Facts, decide
from tenancy.desired import DesiredState
from tenancy.plans import Plans, read_plans
from tenancy.registrations import (
    NAMESPACE_TYPE,
    NO_AWAIT,
    PROVIDER_VERSION,
    TENANT_TYPE,
    Registration,
    registrations,
    resource_inputs,
    resource_name,
    resource_type,
)
from tenancy.spec.tenant import TenantSpec

# The key of the default namespace in `Tenant.namespaces` if `spec.name` is not set.
DEFAULT_NAMESPACE: Final = "default"


class TenantResources(pulumi.ComponentResource):
    """All objects of a tenant, as one component in the stack."""

    def __init__(self, name: str, desired: DesiredState, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(TENANT_TYPE, name, None, opts)
        self._namespaces: dict[str, pulumi.Resource] = {}
        resources: list[pulumi.Resource] = []
        for registration in registrations(desired):
            options = pulumi.ResourceOptions(parent=self, retain_on_delete=registration.retain_on_delete)
            if registration.depends_on:
                options.depends_on = [resources[index] for index in registration.depends_on]
            if registration.deleted_with is not None:
                options.deleted_with = resources[registration.deleted_with]
            resource = _custom_resource(registration, options)
            resources.append(resource)
            if registration.type == NAMESPACE_TYPE:
                self._namespaces[registration.name] = resource
        self.register_outputs({"namespaces": list(desired.namespaces)})


class Tenant(TenantResources):
    """All objects of a tenant, computed from its spec.

    Raises InvalidSpec if a field is invalid. Raises NamespaceTaken if `existing` in the spec is a reserved
    namespace.
    """

    namespaces: pulumi.Output[dict[str, str]]
    """The full name of each namespace. The keys are the names in the spec.

    If `spec.namespaces` is empty, the only key is `spec.name`. If `spec.name` is not set either, the key is
    `default`. A resource that uses a full name from this output depends on the namespace."""

    quotas: list[str]
    """The names of the ResourceQuotas. Every namespace has ResourceQuotas with these names."""

    def __init__(
        self,
        name: str,
        spec: TenantSpec | None = None,
        *,
        plans: Plans | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`plans` defaults to the plans in this package. `tenancy.read_plans` reads other plans files."""
        if not re.fullmatch(DNS_LABEL_PATTERN, name):
            raise InvalidSpec("name", f"{name!r} must be a DNS label: lower case letters, digits and dashes")
        manifest = {"metadata": {"name": name}, "spec": spec or TenantSpec()}
        tenant, desired = decide(manifest, Facts(plans or read_plans()))
        super().__init__(name, desired, opts)
        self.namespaces = pulumi.Output.all(
            **{
                namespace.name if namespace else tenant.spec.name or DEFAULT_NAMESPACE: self._output(
                    full_name
                )
                for full_name, namespace in tenant.namespaces().items()
            }
        )
        quotas = dict.fromkeys(key.name for key in desired.by_key if key.kind == "ResourceQuota")
        self.quotas = list(quotas)

    def _output(self, namespace: str) -> pulumi.Output[str]:
        """The name of the namespace as an Output. Resources that use this Output depend on the namespace."""
        return self._namespaces[namespace].urn.apply(lambda _: namespace)


def kubernetes_object(
    key: ObjectKey,
    manifest: Manifest,
    options: pulumi.ResourceOptions,
    awaits: Mapping[str, str] = NO_AWAIT,
) -> pulumi.Resource:
    """Register the Pulumi resource of a Kubernetes object.

    `awaits` are annotations that define whether Pulumi waits for the object.
    """
    registration = Registration(
        resource_type(manifest), resource_name(key), resource_inputs(manifest, awaits)
    )
    return _custom_resource(registration, options)


def _custom_resource(registration: Registration, options: pulumi.ResourceOptions) -> pulumi.Resource:
    """Register the Pulumi resource of a Kubernetes object.

    The SDK `pulumi_kubernetes` has a class for each kind. This function does not use these classes, because
    their import takes seconds, and they convert every field twice.
    """
    options.version = PROVIDER_VERSION
    return pulumi.CustomResource(registration.type, registration.name, registration.inputs, options)

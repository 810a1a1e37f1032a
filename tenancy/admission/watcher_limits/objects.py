"""Admission policies for the objects that the watcher writes in namespaces.

The watcher can write only in the namespaces of tenants, and in namespaces that a tenant may adopt. The
exceptions are Events about Tenants, plans and AISessions, and the configuration of CoreDNS.
"""

from typing import Final

from tenancy.admission.policy_builder import (
    TENANT_NAME,
    WRITES,
    cel_string,
    check,
    policy,
    rule,
    sender_is,
)
from tenancy.admission.watcher_limits.namespaces import is_reserved
from tenancy.base.kinds import AISESSION, CONFIG_MAP, EVENT, JOB, MANAGED_KINDS, OPTIONAL_KINDS, Kind
from tenancy.base.labels import ADOPTION_ANNOTATION
from tenancy.base.manifest import Manifest
from tenancy.base.names import SESSION_JOB_PREFIX
from tenancy.base.platform_names import (
    COREDNS_CONFIG_MAP,
    COREDNS_NAMESPACE,
    EVENT_NAMESPACE,
    SYSTEM_NAMESPACE,
)

# The namespaced kinds that the watcher creates, changes or deletes. AISessions are not listed, because the
# watcher writes the status of every AISession, even if its namespace belongs to no tenant.
WRITTEN_KINDS: Final = (
    *(kind for kind in (*MANAGED_KINDS, *OPTIONAL_KINDS) if kind.is_namespaced),
    JOB,
    EVENT,
)
# CEL: whether the namespace belongs to a tenant, or a tenant may adopt it. The API server reads the labels of
# the namespace from a cache. The annotation exists long before the adoption, so it is always in the cache.
_IS_TENANTS: Final = (
    f"({TENANT_NAME} != '' || "
    f"namespaceObject.metadata.?annotations[?'{ADOPTION_ANNOTATION}'].orValue('') != '')"
)
_IS_COREDNS: Final = (
    f"request.resource.resource == '{CONFIG_MAP.plural}' && request.namespace == '{COREDNS_NAMESPACE}' && "
    f"request.name == '{COREDNS_CONFIG_MAP}' && request.operation != 'DELETE'"
)
_IS_EVENT: Final = (
    f"request.resource.resource == '{EVENT.plural}' && "
    f"(request.namespace in ['{EVENT_NAMESPACE}', '{SYSTEM_NAMESPACE}'] || "
    f"dyn(object).?involvedObject.?kind.orValue('') == '{AISESSION.kind}')"
)
_POD: Final = "object.spec.template.spec"
# CEL: whether container `c` gets no environment variable from another object, such as a Secret.
_HAS_PLAIN_VARIABLES: Final = "!has(c.envFrom) && c.?env.orValue([]).all(e, !has(e.valueFrom))"


def watcher_object_policies(watcher: str) -> list[Manifest]:
    """The policies for objects in namespaces. `watcher` is the user name of the watcher's ServiceAccount."""
    conditions = {"is-the-watcher": sender_is([watcher])}
    return [*_objects(conditions), *_jobs(conditions)]


def _objects(conditions: dict[str, str]) -> list[Manifest]:
    # A tenant may have adopted a namespace before its name was reserved. The watcher must be able to delete
    # the tenant's objects there.
    is_allowed = f"{_IS_TENANTS} && (request.operation == 'DELETE' || !{is_reserved('request.namespace')})"
    return policy(
        "tenancy-watcher-objects",
        _rules(),
        [
            check(
                f"{is_allowed} || {_IS_COREDNS} || {_IS_EVENT}",
                "'metadata.namespace: the watcher cannot write ' + request.resource.resource + "
                "' in namespace ' + request.namespace + ', because the namespace belongs to no tenant'",
                "Forbidden",
            )
        ],
        conditions=conditions,
    )


def _jobs(conditions: dict[str, str]) -> list[Manifest]:
    """The policy for the Jobs that the watcher creates. It allows only Jobs of AISessions.

    These Jobs must not use Secrets. They need no Secrets, because no setting of a session type can name a
    Secret.
    """
    return policy(
        "tenancy-watcher-jobs",
        [rule(JOB.group, JOB.plural)],
        [
            check(
                f"object.metadata.name.startsWith('{SESSION_JOB_PREFIX}') && "
                "object.metadata.?ownerReferences.orValue([]).exists(o, "
                f"o.kind == '{AISESSION.kind}' && o.apiVersion == '{AISESSION.api_version}')",
                cel_string("metadata: the watcher can create only the Jobs of AISessions"),
                "Forbidden",
            ),
            check(
                f"{_POD}.?volumes.orValue([]).all(v, has(v.emptyDir)) && "
                f"{_POD}.?imagePullSecrets.orValue([]).size() == 0 && "
                f"!{_POD}.?automountServiceAccountToken.orValue(true) && "
                f"{_POD}.containers.all(c, {_HAS_PLAIN_VARIABLES}) && "
                f"{_POD}.?initContainers.orValue([]).all(c, {_HAS_PLAIN_VARIABLES})",
                cel_string(
                    "spec.template.spec: a Job of the watcher cannot use Secrets or the token of its "
                    "ServiceAccount"
                ),
                "Forbidden",
            ),
        ],
        conditions=conditions,
    )


def _rules() -> list[Manifest]:
    """Resource rules that match `WRITTEN_KINDS`. There is one rule for each API version."""
    kinds_of_version: dict[str, list[Kind]] = {}
    for kind in WRITTEN_KINDS:
        kinds_of_version.setdefault(kind.api_version, []).append(kind)
    return [
        rule(
            kinds[0].group,
            *(kind.plural for kind in kinds),
            operations=WRITES,
            version=api_version.rpartition("/")[2],
        )
        for api_version, kinds in kinds_of_version.items()
    ]

"""Builds the notes that `tenancy import` prints together with the manifest. No I/O."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from cli.adoption.existing_namespaces import ExistingNamespace
from cli.adoption.tenant_from_namespaces import access_role, needs_of_namespaces, plan_limits, resource_quotas
from tenancy.base.manifest import Manifest
from tenancy.base.quota_keys import OVERRIDE_KEYS
from tenancy.plans import Plan

_IMPORTED_KEYS: Final = {key for keys in OVERRIDE_KEYS.values() for key in keys}


def plan_notes(name: str, plan: Plan, namespaces: Sequence[ExistingNamespace]) -> Iterator[str]:
    """One note for each limit of the plan that is too low for the namespaces. `name` is the plan's name."""
    if len(namespaces) > plan.max_namespaces:
        yield (
            f"Plan {name} allows {plan.max_namespaces} namespaces, but {len(namespaces)} are imported. Set "
            "spec.maxNamespaces, choose another plan, or split the namespaces into two tenants."
        )
    quotas, limits = resource_quotas(namespaces), plan_limits(plan)
    for field, needed in needs_of_namespaces(namespaces).items():
        if field not in quotas and needed > limits[field]:
            yield (
                f"A namespace without a {field} quota requests more {field} than plan {name} allows. Set "
                f"spec.resourceQuotas.{field}. Otherwise the API server rejects new pods and volume claims "
                "in that namespace."
            )


def binding_notes(namespace: ExistingNamespace) -> Iterator[str]:
    """One note per RoleBinding. The note says whether the Tenant's `spec.access` replaces the RoleBinding."""
    for binding in namespace.role_bindings:
        subjects = ", ".join(
            f"{subject['kind']} {subject['name']}" for subject in binding.get("subjects") or ()
        )
        role = binding["roleRef"]
        object_name = f"RoleBinding {namespace.name}/{binding['metadata']['name']}"
        if access_role(binding):
            yield (
                f"{object_name} ({role['name']}: {subjects}) is replaced by spec.access. Delete it when the "
                "tenant is Active."
            )
        else:
            yield (
                f"{object_name} stays and grants {role['kind']} {role['name']} to {subjects}, in addition to "
                "spec.access. Delete it if you do not want this."
            )


def quota_notes(namespace: ExistingNamespace) -> Iterator[str]:
    """One note per ResourceQuota. The note lists the limits that the Tenant's manifest does not contain."""
    for quota in namespace.quotas:
        others = sorted(set(quota["spec"].get("hard") or {}) - _IMPORTED_KEYS)
        not_imported = f" Not imported: {', '.join(others)}." if others else ""
        yield (
            f"ResourceQuota {namespace.name}/{quota['metadata']['name']} stays and applies in addition to "
            f"the tenant's quotas. Delete it when the tenant is Active.{not_imported}"
        )


def policy_notes(namespace: ExistingNamespace) -> Iterator[str]:
    """One note per NetworkPolicy.

    An existing NetworkPolicy stays in its namespace. NetworkPolicies are additive, so the traffic that it
    allows stays allowed.
    """
    for policy in namespace.network_policies:
        spec = policy["spec"]
        allowed = [
            f"{direction} {preposition} {_peers_text(rule.get(preposition) or ())}"
            for direction, preposition in (("ingress", "from"), ("egress", "to"))
            for rule in spec.get(direction) or ()
        ]
        effect = f"allows {'; '.join(allowed)}" if allowed else "allows no traffic"
        advice = " Delete it if this traffic must not be allowed." if allowed else ""
        yield f"NetworkPolicy {namespace.name}/{policy['metadata']['name']} stays and {effect}.{advice}"


def _peers_text(peers: Iterable[Manifest]) -> str:
    texts = []
    for peer in peers:
        if "ipBlock" in peer:
            texts.append(peer["ipBlock"]["cidr"])
            continue
        namespace_selector, pod_selector = peer.get("namespaceSelector"), peer.get("podSelector")
        namespaces = (
            "the same namespace"
            if namespace_selector is None
            else f"namespaces {_selector_text(namespace_selector)}"
        )
        texts.append(f"pods {_selector_text(pod_selector)} of {namespaces}" if pod_selector else namespaces)
    return ", ".join(texts) or "anywhere"


def _selector_text(selector: Manifest) -> str:
    terms = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
    terms += [
        " ".join([rule["key"], rule["operator"], ",".join(rule.get("values") or ())]).strip()
        for rule in selector.get("matchExpressions") or ()
    ]
    return ", ".join(terms) or "(all)"

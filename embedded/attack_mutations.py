"""Mutations that remove a protection against hostile users. The test of the attack must detect each of them.

`tests/admission/test_without_policies.py` does the same for the admission policies.
"""

from typing import Final

from embedded.mutation import Mutation

_EXPIRY: Final = "tests/watcher/test_session_expiry.py"

ATTACK_MUTATIONS: Final = (
    Mutation(
        "no-limit-of-objects",
        "no quota limits the number of Deployments, Jobs and other objects",
        "tenancy/objects/object_counts.py",
        "if len(resource) <= COUNT_KEY_MAX_LENGTH",
        'if resource == "pods"',
        (
            "tests/tenancy/test_object_counts.py::test_tenant_cannot_fill_etcd",
            "tests/admission/test_etcd.py::test_number_of_objects_is_limited",
        ),
    ),
    Mutation(
        "removed-admin-keeps-bindings",
        "a removed admin keeps RoleBindings that the admin has created",
        "watcher/reconciler/removal/access.py",
        "if not subjects:\n",
        "if subjects is not None:\n",
        ("tests/watcher/test_removed_access.py::test_removed_admin_keeps_no_access_by_an_own_role_binding",),
    ),
    Mutation(
        "deleted-tenant-keeps-access",
        "users of a tenant that is being deleted keep their RoleBindings",
        "watcher/reconciler/terminate.py",
        "                self._remove_access(tenant)\n",
        "",
        ("tests/watcher/test_delete.py::test_users_cannot_block_the_deletion_of_their_tenant_unnoticed",),
    ),
    Mutation(
        "forged-job-blocks-deletion",
        "the deletion of a tenant waits for a Job that a user has forged",
        "watcher/sessions/deletion.py",
        'is_from_platform = TENANT_LABEL in (job["metadata"].get("labels") or {})',
        'is_from_platform = bool(TENANT_LABEL and job["metadata"])',
        ("tests/sessions/test_delete.py::test_deleted_tenant_ends_its_sessions_before_its_stack",),
    ),
    Mutation(
        "forged-completion-time",
        "a session with a completion time in the future never expires",
        "tenancy/sessions/retention.py",
        "return ended if ended <= now else datetime.fromisoformat(created)",
        "return ended",
        (f"{_EXPIRY}::test_completion_time_in_the_future_counts_as_the_creation_time",),
    ),
    Mutation(
        "host-is-free-too-early",
        "another tenant gets a host that an Ingress still uses",
        "watcher/reconciler/sweep.py",
        "used = used_hosts(cluster, left_hosts(tenant, desired), desired.namespaces)",
        "used = used_hosts(cluster, (), desired.namespaces)",
        ("tests/watcher/test_hosts.py::test_host_is_free_only_after_no_ingress_names_it",),
    ),
    Mutation(
        "asset-of-pulumi",
        "a spec or a plan can contain Pulumi's signature key",
        "tenancy/base/pulumi_signature.py",
        "    if isinstance(node, Mapping):\n",
        '    if path != "?":\n        return\n    if isinstance(node, Mapping):\n',
        (
            "tests/tenancy/test_hostile_specs.py::test_signature_of_pulumi_is_rejected_anywhere_in_a_spec",
            "tests/tenancy/test_hostile_specs.py::test_signature_of_pulumi_is_rejected_in_a_plan",
        ),
    ),
    Mutation(
        "reserved-namespace-is-adopted",
        "a tenant can adopt a namespace such as argocd",
        "tenancy/namespace_and_host_conflicts.py",
        "_name_problem(namespace)\n            or ",
        "",
        ("tests/tenancy/test_hostile_specs.py::test_reserved_namespace_is_never_adopted",),
    ),
    Mutation(
        "adoption-without-consent",
        "a tenant can adopt a namespace without an annotation of the namespace",
        "tenancy/namespace_and_host_conflicts.py",
        "    if live is None or _is_managed_by(tenant, live):\n        return False\n",
        '    if tenant != "?":\n        return False\n    assert live is not None\n',
        ("tests/watcher/test_adoption.py::test_namespace_is_not_adopted_without_its_own_consent",),
    ),
    Mutation(
        "namespaces-of-another-account",
        "a tenant gets the namespaces that another customer's tenant of the same name has left",
        "tenancy/namespace_and_host_conflicts.py",
        "    if live is None or tenant.spec.adopt or not _is_managed_by(tenant.name, live):\n",
        "    if live is None or tenant:\n",
        ("tests/watcher/test_adoption.py::test_namespaces_of_an_earlier_tenant_need_the_same_account",),
    ),
    Mutation(
        "session-without-a-tenant",
        "an AISession without tenantRef ends the informer",
        "tenancy/sessions/row.py",
        '((session.get("spec") or {}).get("tenantRef") or {}).get("name")',
        'session["spec"]["tenantRef"]["name"]',
        ("tests/watcher/test_session_cache.py::test_session_without_a_tenant_does_not_end_the_informer",),
    ),
    Mutation(
        "flood-of-tokens",
        "made-up tokens of one client use all slots for checks of tokens",
        "watcher/page/client_limits.py",
        "_CHECKS_AT_ONCE: Final = 2\n_MAX_WAITING: Final = 100\n_MAX_REJECTED_TOKENS: Final = 20\n",
        "_CHECKS_AT_ONCE: Final = 1000\n_MAX_WAITING: Final = 10**6\n_MAX_REJECTED_TOKENS: Final = 10**6\n",
        ("tests/page/test_api_login.py::test_flood_of_made_up_tokens_does_not_stop_users",),
    ),
    Mutation(
        "ended-sessions-stay",
        "ended sessions prevent new ones until they expire",
        "tenancy/sessions/retention.py",
        "if namespace not in limits:",
        "if namespace:",
        (
            f"{_EXPIRY}::test_oldest_sessions_make_space_for_new_ones",
            "tests/sessions/test_keep.py::test_oldest_sessions_make_space_before_the_limit_is_reached",
        ),
    ),
)

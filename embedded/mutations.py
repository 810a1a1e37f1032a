"""The faults that `./dev mutate` puts into the product, and the tests that must detect them.

Each fault breaks something that the product guarantees to users. In a copy of the product that contains the
fault, all `tests` must fail.
"""

from typing import Final

from embedded.attack_mutations import ATTACK_MUTATIONS
from embedded.mutation import Mutation

MUTATIONS: Final = (
    Mutation(
        "default-deny-allows-ingress",
        "the default-deny-all policy allows ingress",
        "tenancy/objects/network_policies.py",
        '"default-deny-all": ([], []),',
        '"default-deny-all": ([{}], []),',
        ("tests/tenancy/test_network.py::test_no_other_tenant_gets_in_or_is_reached",),
    ),
    Mutation(
        "intra-tenant-selects-all",
        "the allow-intra-tenant policy selects all namespaces",
        "tenancy/objects/network_policies.py",
        '"allow-intra-tenant": ([{"from": [own_namespaces]}], [{"to": [own_namespaces]}]),',
        '"allow-intra-tenant": ([{"from": [_namespaces_with({})]}], [{"to": [_namespaces_with({})]}]),',
        ("tests/tenancy/test_network.py::test_no_other_tenant_gets_in_or_is_reached",),
    ),
    Mutation(
        "viewers-read-secrets",
        "viewers can read Secrets",
        "tenancy/objects/roles.py",
        "_VIEWER_CORE: Final = [\n",
        '_VIEWER_CORE: Final = [\n    "secrets",\n',
        ("tests/tenancy/test_desired.py::test_viewer_reads_no_secrets",),
    ),
    Mutation(
        "removed-user-stays-bound",
        "a user who is removed from a tenant stays in the RoleBinding",
        "tenancy/component.py",
        "options.version = PROVIDER_VERSION\n",
        'options.version, options.ignore_changes = PROVIDER_VERSION, ["subjects"]\n',
        ("tests/stacks/test_stack.py::test_removed_user_is_no_longer_bound",),
    ),
    Mutation(
        "quota-is-doubled",
        "a quota is twice the value in the plan",
        "tenancy/objects/quotas.py",
        "overrides.get(resource, amount)",
        'overrides.get(resource, canonical_quantity(f"{quantity_value(amount) * 2:f}"))',
        ("tests/tenancy/test_quota.py::test_namespace_scope_gives_each_namespace_the_whole_figure",),
    ),
    Mutation(
        "budget-raises-first",
        "when a shared budget is split again, quotas are raised before others are lowered",
        "tenancy/quota_transition.py",
        "must_wait = figure in waiting and now.written < quantity_value(share)",
        "must_wait = figure in waiting and now.written > quantity_value(share)",
        ("tests/tenancy/test_budget.py::test_no_order_of_single_updates_passes_the_budget",),
    ),
    Mutation(
        "limit-range-has-no-defaults",
        "the LimitRange has no defaults",
        "tenancy/objects/quotas.py",
        '            ("default", limits.default),\n            ("defaultRequest", limits.default_request),\n',
        "",
        ("tests/tenancy/test_quota.py::test_limit_range_has_the_plans_defaults_and_maxima",),
    ),
    Mutation(
        "pod-security-label-is-dropped",
        "a Pod Security label is dropped",
        "tenancy/objects/namespace.py",
        'for mode in ("enforce", "audit", "warn"):',
        'for mode in ("audit", "warn"):',
        ("tests/tenancy/test_desired.py::test_namespace_has_all_pod_security_labels",),
    ),
    Mutation(
        "managed-objects-are-not-guarded",
        "the managed-objects admission policy allows every request",
        "tenancy/admission/managed_objects.py",
        '"others": f"!{is_platform}",\n            "not-a-namespace"',
        '"others": "false",\n            "not-a-namespace"',
        ("tests/admission/test_managed.py::test_tenants_admin_changes_nothing_managed",),
    ),
    Mutation(
        "node-port-is-allowed",
        "a tenant can create a NodePort Service",
        "tenancy/admission/traffic/services.py",
        """\
            check(
                "object.spec.type != 'NodePort'",
                cel_string("spec.type: NodePort is never allowed for a tenant; use ClusterIP and an Ingress"),
            ),
""",
        "",
        ("tests/admission/test_network.py::test_object_that_breaks_isolation_is_refused",),
    ),
    Mutation(
        "finalizer-goes-first",
        "the finalizer is removed before the namespaces are deleted",
        "watcher/reconciler/terminate.py",
        "if leftovers := self._delete_leftovers(tenant):",
        "if (leftovers := self._delete_leftovers(tenant)) is None:",
        ("tests/watcher/test_delete.py::test_deleted_tenant_takes_namespaces_and_stack_with_it",),
    ),
    Mutation(
        "failed-destroy-is-success",
        "a failed destroy counts as success",
        "stacks/stack.py",
        "except StackNotFound:\n            return None\n",
        "except Exception:\n            return None\n",
        ("tests/stacks/test_stack.py::test_failed_destroy_is_an_error_and_deletes_nothing",),
    ),
    Mutation(
        "live-lock-is-taken",
        "the stack lock of a running process counts as abandoned",
        "stacks/ownership/lock.py",
        "return is_ended or started_at > lock.since.timestamp() + 1",
        "return True",
        ("tests/stacks/test_errors.py::test_lock_of_this_very_process_is_not_abandoned",),
    ),
    Mutation(
        "edit-is-not-reverted",
        "an edited object is not reverted",
        "tenancy/drift.py",
        'return f"{path} changed" if path else None',
        "return None",
        ("tests/watcher/test_drift.py::test_edited_object_is_reverted",),
    ),
    Mutation(
        "deleted-object-is-not-recreated",
        "a deleted object is not re-created",
        "watcher/reconciler/restore_object.py",
        "if desired is None or (live is None and not _can_be_created(cluster, key)):",
        "if desired is None or live is None:",
        ("tests/watcher/test_drift.py::test_deleted_role_comes_back",),
    ),
    Mutation(
        "queue-drops-an-item",
        "the queue drops an item added while its tenant is being processed",
        "watcher/queue.py",
        "            self._again[tenant] = min(due, self._again.get(tenant, due))\n",
        "",
        ("tests/watcher/test_queue.py::test_tenant_added_while_it_is_worked_on_is_taken_again_after_done",),
    ),
    Mutation(
        "digest-ignores-a-kind",
        "the digest of the desired state ignores LimitRanges",
        "tenancy/desired.py",
        "json.dumps([self.manifests, self.retains]",
        'json.dumps([[one for one in self.manifests if one["kind"] != "LimitRange"], self.retains]',
        ("tests/tenancy/test_desired.py::test_change_of_any_object_changes_the_digest",),
    ),
    Mutation(
        "active-after-a-failed-up",
        "status says Active after a failed `up`",
        "watcher/reconciler/status.py",
        "phase=Phase.FAILED,",
        "phase=Phase.ACTIVE if half_done else Phase.FAILED,",
        ("tests/watcher/test_failure.py::test_denied_access_is_told_and_recovers_by_itself",),
    ),
    Mutation(
        "namespace-is-shared",
        "two tenants get the same namespace",
        "tenancy/namespace_and_host_conflicts.py",
        "holder = holders.get(namespace, tenant)",
        "holder = tenant",
        ("tests/tenancy/test_reservations.py::test_namespace_belongs_to_the_first_tenant_that_claims_it",),
    ),
    Mutation(
        "host-is-shared",
        "two tenants get the same host",
        "tenancy/namespace_and_host_conflicts.py",
        "if other != desired.tenant and any(",
        "if not other and any(",
        ("tests/tenancy/test_reservations.py::test_host_belongs_to_the_first_tenant_that_claims_it",),
    ),
    Mutation(
        "preview-omits-a-namespace",
        "a preview omits a namespace that will be deleted",
        "tenancy/changes.py",
        "    for key in unwanted(desired, present):\n",
        """\
    for key in unwanted(desired, present):
        if key.kind == NAMESPACE.kind:
            continue
""",
        ("tests/tenancy/test_changes.py::test_what_is_no_longer_wanted_is_deleted",),
    ),
    Mutation(
        "rollback-restores-another-spec",
        "a rollback restores the wrong spec",
        "cli/commands/rollback.py",
        '"value": target.spec}',
        '"value": {**tenant["spec"], **target.spec}}',
        ("tests/cli/test_rollback.py::test_rollback_that_only_removes_is_by_the_user_too",),
    ),
    Mutation(
        "page-ignores-rights",
        "the page shows a tenant to a user without access to it",
        "watcher/page/routes.py",
        'await self._authorize(request, "get", name)\n        view =',
        "await self._authorize(request)\n        view =",
        ("tests/page/test_api_login.py::test_friend_of_one_tenant_sees_that_one_alone",),
    ),
    Mutation(
        "foreign-session-runs",
        "an AISession with another tenant's `tenantRef` runs",
        "tenancy/sessions/row.py",
        'name = ((session.get("spec") or {}).get("tenantRef") or {}).get("name")',
        'name = session["metadata"]["namespace"].removeprefix("tenant-")',
        ("tests/sessions/test_admission.py::test_session_that_slipped_in_fails",),
    ),
    *ATTACK_MUTATIONS,
)

"""The reasons in the conditions and Events of Tenants. docs/reference/status.md explains each reason."""

from enum import StrEnum


class Reason(StrEnum):
    # Conditions that do not report an error.
    PENDING = "Pending"
    APPLYING = "Applying"
    APPLIED = "Applied"
    PAUSED = "Paused"
    NAMESPACE_TERMINATING = "NamespaceTerminating"
    DELETING = "Deleting"
    PROTECTED = "Protected"
    # The condition Drifted, and Events about drift.
    NO_DRIFT = "NoDrift"
    REPAIRED = "Repaired"
    DRIFT_FOUND = "DriftFound"
    DRIFT_REPAIRED = "DriftRepaired"
    # An Event about the RoleBindings of subjects that are no longer in the spec.
    ACCESS_REMOVED = "AccessRemoved"
    # The condition Isolated.
    CHECKS_PASSED = "ChecksPassed"
    CHECKS_FAILED = "ChecksFailed"
    # The condition IntegrationsReady.
    CRDS_MISSING = "CRDsMissing"
    # The spec is rejected.
    INVALID_SPEC = "InvalidSpec"
    UNKNOWN_PLAN = "UnknownPlan"
    NAME_TAKEN = "NameTaken"
    NAMESPACE_TAKEN = "NamespaceTaken"
    HOST_TAKEN = "HostTaken"
    OBJECT_TAKEN = "ObjectTaken"
    QUOTA_IN_USE = "QuotaInUse"
    # An operation on a stack failed.
    UPDATE_FAILED = "UpdateFailed"
    UPDATE_CONFLICT = "UpdateConflict"
    STACK_NOT_FOUND = "StackNotFound"
    TIMEOUT = "Timeout"
    CLUSTER_UNREACHABLE = "ClusterUnreachable"
    BACKEND_UNREACHABLE = "BackendUnreachable"
    PULUMI_MISSING = "PulumiMissing"
    STORAGE_FAILED = "StorageFailed"
    ACCESS_DENIED = "AccessDenied"
    # The API server rejected a request.
    CLUSTER_REFUSED = "ClusterRefused"
    # Events about the plans.
    INVALID_PLANS = "InvalidPlans"
    PLANS_REFUSED = "PlansRefused"
    PLANS_ACCEPTED = "PlansAccepted"
    # Other failures while the watcher reconciles a tenant.
    DRIFT_CONTESTED = "DriftContested"
    REPAIR_FAILED = "RepairFailed"
    DESTROY_FAILED = "DestroyFailed"
    DELETION_BLOCKED = "DeletionBlocked"
    INTERNAL_ERROR = "InternalError"

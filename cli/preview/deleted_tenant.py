"""The preview of a tenant that would be deleted, for example because its manifest was removed. No I/O."""

from cli.preview.comparison_base import Base
from cli.preview.findings.finding import Finding, Rule
from cli.preview.findings.warnings import deletion_warning
from cli.preview.result import Outcome, TenantPreview
from tenancy.changes import object_changes
from tenancy.desired import DesiredState
from tenancy.spec.tenant import DeletionPolicy


def deleted_tenant_preview(base: Base, name: str) -> TenantPreview:
    """The preview of the deletion of a tenant in the base.

    If the tenant is protected, the preview contains no changes, but an error.
    """
    document, spec = base.documents.get(name), base.tenants[name].get("spec") or {}
    file, line = (document.file, document.line) if document else ("", 0)
    is_protected = name in base.protected
    no_objects = DesiredState(name, (), retains=spec.get("deletionPolicy") == DeletionPolicy.RETAIN)
    changes = () if is_protected else object_changes(no_objects, base.objects.get(name, {}))
    message = f"tenant {name} is protected; set spec.protected: false first, then delete it"
    finding = (
        Finding(rule=Rule.TENANT_PROTECTED, tenant=name, message=message)
        if is_protected
        else deletion_warning(name, changes)
    )
    return TenantPreview(
        name=name,
        display_name=spec.get("displayName") or "",
        file=file,
        line=line,
        outcome=Outcome.INVALID if is_protected else Outcome.DELETED,
        changes=changes,
        findings=(finding.model_copy(update={"file": file, "line": line}),),
    )

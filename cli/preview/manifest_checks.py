"""Checks manifests without a cluster and without plans. No I/O."""

from collections.abc import Sequence
from functools import partial

from cli.manifests.read import ManifestSet, TenantDocument
from cli.manifests.sources import ManifestError, location_text
from cli.preview.findings.finding import Finding, Rule
from cli.preview.findings.locations import error_finding
from tenancy.base.errors import NameTaken, TenancyError, rejections_of
from tenancy.spec.tenant import tenant_from_manifest


class InvalidManifests(TenancyError):
    """Some manifests are invalid. The message lists all errors, one per line."""

    reason = "InvalidManifest"


def manifest_findings(manifests: ManifestSet) -> list[Finding]:
    """The errors of all documents, sorted by file and line.

    Errors are invalid documents, invalid fields, invalid specs, and two Tenants with the same name.
    """
    seen: dict[str, TenantDocument] = {}
    findings = document_findings(manifests)
    for document in manifests.tenants:
        errors = rejections_of(
            partial(check_name_is_new, document, seen), partial(tenant_from_manifest, document.manifest)
        )
        findings += [error_finding(error, document) for error in errors]
    return sorted(findings, key=lambda finding: (finding.file, finding.line))


def document_findings(manifests: ManifestSet) -> list[Finding]:
    """The errors outside the specs: paths and documents that cannot be read, and invalid fields."""
    return fault_findings(manifests.faults) + [
        error_finding(error, document)
        for document in manifests.tenants
        for error in rejections_of(document.check)
    ]


def fault_findings(faults: Sequence[ManifestError]) -> list[Finding]:
    return [
        Finding(rule=Rule.INVALID_MANIFEST, message=fault.problem, file=fault.file, line=fault.line)
        for fault in faults
    ]


def check_name_is_new(document: TenantDocument, seen: dict[str, TenantDocument]) -> None:
    """Add the document to `seen`.

    Raises NameTaken if `seen` already contains a document with the same name.
    """
    first = seen.setdefault(document.name, document)
    if first is not document:
        raise NameTaken(
            "metadata.name",
            f"the Tenant {document.name!r} is also in {first.file}:{first.line}; remove or rename one of the "
            "two Tenants",
        )


def findings_text(findings: Sequence[Finding]) -> str:
    """The findings, one per line."""
    return "\n".join(map(finding_text, findings))


def finding_text(finding: Finding) -> str:
    """The finding as `FILE:LINE: FIELD: MESSAGE`. If it has no field, `FILE:LINE: TENANT: MESSAGE`."""
    location = f"{location_text(finding.file, finding.line)}: " if finding.file else ""
    tenant = f"{finding.tenant}: " if finding.tenant and not finding.field else ""
    return f"{location}{tenant}{finding.message}"

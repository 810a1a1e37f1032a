"""The generated file crds.yaml is current, and both API groups have the same schema."""

from tenancy.spec.crd import CRD_FILE, crds_text, tenant_crds


def test_generated_file_is_current() -> None:
    assert CRD_FILE.read_text(encoding="utf-8") == crds_text(), "run ./dev generate"


def test_both_groups_serve_the_same_schema() -> None:
    main, kleff = tenant_crds()
    assert main["spec"]["versions"] == kleff["spec"]["versions"]
    assert [crd["metadata"]["name"] for crd in (main, kleff)] == [
        "tenants.platform.ai",
        "tenants.kleff.kleff.io",
    ]

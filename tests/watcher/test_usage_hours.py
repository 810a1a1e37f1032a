"""The rows of the usage report contain units, and sums per tenant."""

import pytest

from watcher.usage.hours import Hours, Series, UsageRow, tenant_rows, usage_row

GIB = 2**30


@pytest.mark.parametrize(
    ("resource", "unit", "unit_size"),
    [
        ("cpu", "CPU-hours", 1),
        ("memory", "GiB-hours", GIB),
        ("storage", "GiB-hours", GIB),
        ("pods", "pod-hours", 1),
    ],
)
def test_row_has_the_unit_of_its_resource(resource: str, unit: str, unit_size: int) -> None:
    row = usage_row(Series("acme", "tenant-acme", resource), Hours(1.5 * unit_size, 3 * unit_size, 2))
    assert (row.unit, row.used_hours, row.quota_hours, row.recorded_hours) == (unit, 1.5, 3, 2)


def test_tenant_row_sums_the_rows_of_its_namespaces() -> None:
    def row(tenant: str, namespace: str, used: float, recorded: float) -> UsageRow:
        return UsageRow(
            tenant=tenant,
            namespace=namespace,
            resource="cpu",
            unit="CPU-hours",
            quota_hours=10,
            used_hours=used,
            recorded_hours=recorded,
        )

    rows = tenant_rows([row("a", "a-1", 1, 5), row("a", "a-2", 2, 3), row("b", "b-1", 4, 1)])
    assert [
        (row.tenant, row.namespace, row.quota_hours, row.used_hours, row.recorded_hours) for row in rows
    ] == [
        ("a", "", 20, 3, 5),
        ("b", "", 10, 4, 1),
    ]

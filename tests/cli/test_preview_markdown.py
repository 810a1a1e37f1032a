"""The Markdown output of a preview has a limited size, and text from manifests is escaped."""

import pytest

from cli.preview.findings.finding import Finding, Rule
from cli.preview.formats.escape import escaped_markdown, fence, printable
from cli.preview.formats.markdown import LIMIT, markdown
from cli.preview.result import Outcome, Preview, TenantPreview


def tenant(name: str, *findings: Finding, display_name: str = "") -> TenantPreview:
    return TenantPreview(name=name, outcome=Outcome.CHANGED, findings=findings, display_name=display_name)


def test_the_worst_can_not_be_pushed_out_of_sight() -> None:
    flood = [
        Finding(rule=Rule.ACCESS_WIDENED, tenant="a", message="@" * 5000, file="a.yaml", line=number)
        for number in range(1, 200)
    ]
    worst = Finding(rule=Rule.TENANT_DELETED, tenant="z", message="the tenant is deleted")
    comment = markdown(Preview(base="nothing", tenants=(tenant("a", *flood), tenant("z", worst))))
    assert len(comment) <= LIMIT
    first = next(line for line in comment.splitlines() if line.startswith("> - "))
    assert "**z**: the tenant is deleted" in first
    assert "> - … and " in comment


def test_no_row_is_so_long_that_it_hides_the_next() -> None:
    loud = [tenant(f"t{number}", display_name="|" * 100_000) for number in range(3)]
    comment = markdown(Preview(base="nothing", tenants=tuple(loud)))
    assert [line[:5] for line in comment.splitlines() if line.startswith("| t")] == [
        "| t0 ",
        "| t1 ",
        "| t2 ",
    ]


def test_the_sum_counts_in_words() -> None:
    outcomes = ["changed"] * 2 + ["new"] + ["invalid"] + ["unchanged"] * 14
    tenants = tuple(TenantPreview(name="x", outcome=Outcome(outcome)) for outcome in outcomes)
    summary = Preview(base="nothing", tenants=tenants).summary
    assert summary == "2 tenants change, 1 is new, 1 has an error, 14 unchanged"
    assert Preview(base="nothing", tenants=()).summary == "No tenant changes"


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("plain-name.example, 2 of 3: fine", "plain-name.example, 2 of 3: fine"),
        ("a|b", "a&#124;b"),
        ("</details>", "&#60;/details&#62;"),
        ("@octocat", "&#64;&#8203;octocat"),
        ("`x`", "&#96;x&#96;"),
        ("two\nlines", "two&#92;nlines"),
        ("https://x", "https&#58;//x"),
        ("www.evil.test", "www&#46;&#8203;evil.test"),
    ],
)
def test_text_reads_as_itself_and_means_nothing(text: str, escaped: str) -> None:
    assert escaped_markdown(text) == escaped


def test_a_fence_is_longer_than_what_it_holds_and_nothing_turns_the_writing_around() -> None:
    assert fence("plain") == "```"
    assert fence("a ```` b") == "`````"
    assert printable("a\u202eb\x1b[0m") == "a\\u202eb\\x1b[0m"

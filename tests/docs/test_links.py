"""Every link in the README and the docs has a target.

No page of the docs loads resources from another host.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from embedded.docs import build_options
from embedded.environment import ROOT
from tests.docs.links import faults, is_external, links_of


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", *build_options(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def pages(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    assert len(pages(site)) > 20
    assert [fault for page in pages(site) for fault in faults(page)] == []


def test_every_link_of_the_readme_leads_somewhere() -> None:
    assert links_of(ROOT / "README.md").targets
    assert faults(ROOT / "README.md") == []


def test_every_link_of_the_sources_leads_somewhere() -> None:
    """Checks the links in the Markdown files themselves, without building the site."""
    sources = [
        *(ROOT / "docs").rglob("*.md"),
        ROOT / "CHANGELOG.md",
        ROOT / "CONTRIBUTING.md",
        *(ROOT / "examples").rglob("*.md"),
    ]
    assert [fault for page in sources for fault in faults(page)] == []


def test_site_loads_nothing_from_another_host(site: Path) -> None:
    loaded = [(page.name, address) for page in pages(site) for address in links_of(page).loaded]
    assert loaded
    assert [entry for entry in loaded if is_external(entry[1])] == []
    fetched = re.compile(r"url\(\s*['\"]?(?:https?:)?//|@import", re.IGNORECASE)
    styled = [file for file in site.rglob("*") if file.suffix in (".css", ".svg", ".html")]
    assert [file.name for file in styled if fetched.search(file.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    ("link", "problem"),
    [
        ("other.md", ""),
        ("other.md#a-heading", ""),
        ("#here-it-is", ""),
        ("https://kubernetes.io/docs/", ""),
        ("missing.md", "does not exist"),
        ("other.md#no-heading", "has no such anchor"),
        ("#nowhere", "has no such anchor"),
        ("http://kubernetes.io/", "is not an https address"),
        ("https://nowhere", "is not an https address"),
    ],
)
def test_link_that_leads_nowhere_is_told(tmp_path: Path, link: str, problem: str) -> None:
    (tmp_path / "other.md").write_text("# A heading\n", encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(f"## Here it is\n\n[a link]({link})\n", encoding="utf-8")
    assert faults(page) == ([f"page.md: {link}: {problem}"] if problem else [])

"""Sphinx extension: pages name the tests of their statements, and the build checks that these tests exist.

A page names a test with the role `test`:

    {test}`tests/admission/test_cordon.py::test_cordoned_tenants_admin_writes_nothing`

The build also checks that the statements on the security page name a test. A statement is a paragraph, an
item of a list or a row of a table, in any section except those in `_OTHER_SECTIONS`. A paragraph that ends
with a colon introduces the list or the table after it. If this paragraph names a test, the test covers all
items or rows. Otherwise, each of them must name a test.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

_ROOT: Final = Path(__file__).parent.parent
_CLASS: Final = "named-test"
_PAGE: Final = "security"
# The ids of the sections without statements that can be tested. They define terms, give advice, or describe
# limits.
_OTHER_SECTIONS: Final = frozenset({"security", "threat-model", "what-is-not-protected"})

log = logging.getLogger(__name__)


class NamedTest(SphinxRole):
    """The role `test`. It warns if the test does not exist."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        if not is_test(self.text):
            log.warning("test %r does not exist", self.text, location=self.get_location())
        return [nodes.literal(self.rawtext, self.text, classes=[_CLASS])], []


def is_test(name: str) -> bool:
    """Whether the test exists. `name` has the form FILE::FUNCTION. FILE is relative to the root folder."""
    file, _, function = name.partition("::")
    path = _ROOT / file
    if not path.is_file():
        return False
    return re.search(rf"^def {re.escape(function)}\(", path.read_text(encoding="utf-8"), re.M) is not None


def check_statements(app: Sphinx, doctree: nodes.document) -> None:
    """Warn about each statement on the security page that names no test."""
    if app.env.docname != _PAGE:
        return
    for section in doctree.findall(nodes.section):
        if _OTHER_SECTIONS.isdisjoint(section["ids"]):
            for statement in _statements(section):
                if not _names_test(statement):
                    text = statement.astext().split("\n")[0]
                    log.warning("the statement %r names no test", text[:60], location=statement)


def _statements(section: nodes.section) -> Iterator[nodes.Element]:
    """The statements directly in the section, without those of subsections."""
    is_covered = False
    for child in section.children:
        if isinstance(child, nodes.paragraph):
            # The names of tests can follow the colon.
            is_introduction = _text_without_tests(child).endswith(":")
            is_covered = is_introduction and _names_test(child)
            if not is_introduction:
                yield child
        elif isinstance(child, nodes.bullet_list | nodes.table) and not is_covered:
            yield from _items(child)


def _items(parent: nodes.bullet_list | nodes.table) -> Iterator[nodes.Element]:
    """The items of a list, without those of nested lists, or the rows of a table, without its head."""
    if isinstance(parent, nodes.bullet_list):
        yield from (item for item in parent.children if isinstance(item, nodes.Element))
        return
    for body in parent.findall(nodes.tbody):
        yield from body.findall(nodes.row)


def _names_test(node: nodes.Element) -> bool:
    return any(_CLASS in literal["classes"] for literal in node.findall(nodes.literal))


def _text_without_tests(paragraph: nodes.paragraph) -> str:
    parts = (
        child.astext()
        for child in paragraph.children
        if not (isinstance(child, nodes.literal) and _CLASS in child["classes"])
    )
    return "".join(parts).strip()


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_role("test", NamedTest())
    app.connect("doctree-read", check_statements)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

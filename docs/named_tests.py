"""Sphinx extension: pages name the tests of their statements, and the build checks that these tests exist.

A page names a test with the role `test`:

    {test}`tests/admission/test_cordon.py::test_cordoned_tenants_admin_writes_nothing`

The build also checks that the statements on the security page name a test. A statement is an item of a list
or a row of a table, in one of the sections in `_SECTIONS`.
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
# The ids of the sections in which every statement needs a test. Other sections define terms, describe limits,
# or tell the reader what to do.
_SECTIONS: Final = frozenset(
    {
        "layers-of-isolation",
        "what-tenants-cannot-do",
        "threat-model-by-protection",
        "rights-of-the-watcher",
        "web-page-and-http-endpoints",
    }
)

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
        if _SECTIONS.isdisjoint(section["ids"]):
            continue
        for statement in _statements(section):
            if not any(_CLASS in literal["classes"] for literal in statement.findall(nodes.literal)):
                text = statement.astext().split("\n")[0]
                log.warning("the statement %r names no test", text[:60], location=statement)


def _statements(section: nodes.section) -> Iterator[nodes.Element]:
    """The list items and the table rows directly in the section, without those of subsections."""
    for child in section.children:
        if isinstance(child, nodes.bullet_list):
            yield from (item for item in child.children if isinstance(item, nodes.Element))
        elif isinstance(child, nodes.table):
            for body in child.findall(nodes.tbody):
                yield from body.findall(nodes.row)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_role("test", NamedTest())
    app.connect("doctree-read", check_statements)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""The docs build warns if a statement on the security page names no test, or a test that does not exist."""

import subprocess
import sys
from pathlib import Path

from embedded.environment import ROOT

_PAGE = """\
# Security

## What tenants cannot do

- **Good.** A statement. {test}`tests/docs/test_security.py::test_build_finds_statements_without_a_test`
- **Without.** A statement.
- **Unknown.** A statement. {test}`tests/docs/test_security.py::test_unknown`

| layer | test |
|---|---|
| row | none |

A paragraph. {test}`tests/docs/test_security.py::test_build_finds_statements_without_a_test`

A paragraph without a test.

These items need tests:

- An item without a test.
  - Part of the item.

One test covers these items: {test}`tests/docs/test_security.py::test_build_finds_statements_without_a_test`

- An item.

## What is not protected

- A limit needs no test.
"""


def test_build_finds_statements_without_a_test(tmp_path: Path) -> None:
    (tmp_path / "index.md").write_text("# Docs\n\n```{toctree}\nsecurity\n```\n")
    (tmp_path / "security.md").write_text(_PAGE)
    folder = ROOT / "docs"
    (tmp_path / "conf.py").write_text(
        f"import sys\nsys.path.insert(0, {str(folder)!r})\nextensions = ['myst_parser', 'named_tests']\n"
    )
    options = ("-q", "--no-color", "-b", "dummy", str(tmp_path), str(tmp_path / "out"))
    command = [sys.executable, "-m", "sphinx", *options]
    completed = subprocess.run(command, capture_output=True, text=True, check=True)
    warnings = [line.partition("WARNING: ")[2] for line in completed.stderr.splitlines()]
    assert warnings == [
        "test 'tests/docs/test_security.py::test_unknown' does not exist",
        "the statement 'Without. A statement.' names no test",
        "the statement 'row' names no test",
        "the statement 'A paragraph without a test.' names no test",
        "the statement 'An item without a test.' names no test",
    ]

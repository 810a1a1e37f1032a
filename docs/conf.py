"""Sphinx configuration of the docs. `./dev docs` and `./dev check` build them from Markdown.

Built pages load nothing from other hosts. Warnings are errors, so a broken link fails the build.
"""

import sys
from pathlib import Path

# The folder of `named_tests`.
sys.path.insert(0, str(Path(__file__).parent))

project = "tenancy"
html_title = "tenancy"
language = "en"

extensions = ["myst_parser", "sphinx_copybutton", "named_tests"]
# Headings down to this level are link targets: page.md#heading.
myst_heading_anchors = 4

html_theme = "furo"
html_copy_source = False
html_show_copyright = False
html_static_path = ["static"]
html_css_files = ["style.css"]
# The copy button is for commands, not for their output.
copybutton_selector = "div:not(.highlight-text) > div.highlight > pre"

"""Settings of these pages' build. `./dev docs` and `./dev check` run it; pages are Markdown.

Nothing in a built page comes from another host, and no warning is silenced: a dead link fails the build.
"""

project = "tenancy"
html_title = "tenancy"
language = "en"

extensions = ["myst_parser", "sphinx_copybutton"]
# So that a link can name a heading: page.md#heading.
myst_heading_anchors = 4

html_theme = "furo"
html_copy_source = False
html_show_copyright = False
html_static_path = ["static"]
html_css_files = ["style.css"]
# Commands are copied, what they print is not.
copybutton_selector = "div:not(.highlight-text) > div.highlight > pre"

"""The output formats of a preview: table, Markdown, JSON and SARIF."""

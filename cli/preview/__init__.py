"""`tenancy preview`: what Tenant manifests would change, told before anything is.

    given manifests → base (live, a git revision, or nothing) → comparison → table, Markdown, JSON or SARIF

It needs no write rights, takes no lock and leaves nothing behind.
"""

"""`tenancy preview`: the changes that Tenant manifests would make, computed without making them.

    manifests → base (live objects, a git revision, or nothing) → comparison → table, Markdown, JSON or SARIF

A preview needs read access only, takes no lock, and writes nothing.
"""

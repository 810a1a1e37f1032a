"""Computes the changes that Tenant manifests would make, for `tenancy preview`.

    manifests and base (live objects, git revision, or nothing) → comparison → table, Markdown, JSON or SARIF

A preview needs only read access. It does not lock stacks, and writes nothing to the cluster.
"""

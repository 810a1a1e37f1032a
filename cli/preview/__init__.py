"""Code for `tenancy preview`: computes the changes that Tenant manifests would make.

    manifests and base (live objects, git revision, or nothing) → comparison → table, Markdown, JSON or SARIF

The base is the state with which a preview compares the manifests. A preview needs only read access. It does
not lock stacks, and writes nothing to the cluster.
"""

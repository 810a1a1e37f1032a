"""Removes users' access to a tenant's namespaces, and describes why a tenant's deletion is blocked."""

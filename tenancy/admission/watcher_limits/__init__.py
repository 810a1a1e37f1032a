"""Admission policies that limit the watcher itself.

The watcher's RBAC rules apply to all namespaces, because RBAC cannot select namespaces by label. These
policies limit the watcher to the namespaces of tenants.
"""

"""Reads existing namespaces and derives the Tenant that adopts them, for `tenancy import`."""

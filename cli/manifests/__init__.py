"""Reads Tenant manifests from files, folders and standard input, and finds their errors."""

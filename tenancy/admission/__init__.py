"""Admission policies that isolate tenants. The API server evaluates them itself, without a webhook."""

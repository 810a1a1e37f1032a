"""Reconciles tenants: applies, repairs, deletes, and writes status."""

"""Reconciles tenants: applies their specs, repairs drift, deletes tenants, and writes their status."""

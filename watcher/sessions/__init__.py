"""Reconciles AISessions: creates their Jobs, writes their status, deletes them. Does not use Pulumi."""

"""Reconciles AISessions: creates Jobs, writes statuses and deletes sessions. Does not use Pulumi."""

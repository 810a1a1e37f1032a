"""Reconciles AISessions: creates their Jobs, writes their status, and deletes expired AISessions."""

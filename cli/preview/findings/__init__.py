"""Errors, warnings and notes of a preview, and where in a manifest they belong."""

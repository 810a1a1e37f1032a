"""Finds the errors, warnings and notes of a preview, and the lines of the manifests that cause them."""

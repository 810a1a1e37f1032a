"""Checks of a tenant's isolation: requests that must be rejected, objects that must not change. No I/O."""

"""Code for `tenancy rollback`: finds the update to roll back to, and the spec to restore."""

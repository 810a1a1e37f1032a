"""For `tenancy rollback`. Finds the update to roll back to, and the spec to restore."""

"""The update that `tenancy rollback` rolls back to, and the spec that it restores."""

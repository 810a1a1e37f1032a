"""Which update `tenancy rollback` goes back to, and the spec that it restores."""

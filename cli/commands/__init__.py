"""The commands of `tenancy`, one module each."""

"""The commands of `tenancy`, one module per command."""

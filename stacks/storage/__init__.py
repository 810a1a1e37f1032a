"""Direct access to the histories in a backend, including the histories of deleted tenants."""

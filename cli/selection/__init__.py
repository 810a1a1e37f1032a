"""The command line arguments with which a user selects manifests or live tenants."""

"""Code for `tenancy import`. It creates a Tenant manifest that adopts (takes over) existing namespaces."""

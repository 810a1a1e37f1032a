"""Code for `tenancy import`: reads existing namespaces, and creates a Tenant manifest that adopts them."""

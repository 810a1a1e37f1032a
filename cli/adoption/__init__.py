"""For `tenancy import`. Reads existing namespaces, and creates the manifest of a Tenant that adopts them."""

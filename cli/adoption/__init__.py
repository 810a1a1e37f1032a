"""What `tenancy import` reads from existing namespaces, and the Tenant made from it."""

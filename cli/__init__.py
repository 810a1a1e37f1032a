"""The `tenancy` command line. It reads the cluster and the stacks. It changes only Tenants and AISessions."""

"""The `tenancy` command line. It reads the cluster and the stacks, and writes only Tenants."""

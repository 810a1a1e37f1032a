"""The `tenancy` command line. It reads the cluster and the Pulumi stacks. It writes only Tenants."""

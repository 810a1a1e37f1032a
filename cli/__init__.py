"""The `tenancy` command: what people type. It reads the cluster and the stacks, and writes Tenants only."""

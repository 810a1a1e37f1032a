"""Resource usage of tenants: reads pod metrics if the cluster has them, and records quota usage over time."""

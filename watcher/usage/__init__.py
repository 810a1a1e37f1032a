"""What tenants use: measured where the cluster can, and recorded over time."""

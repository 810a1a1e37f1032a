"""The usage of tenants: measured if the cluster has a metrics API, and recorded over time."""

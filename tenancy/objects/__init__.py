"""The Kubernetes objects of a tenant: one module per kind or integration. Pure."""

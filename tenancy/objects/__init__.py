"""The Kubernetes objects of a tenant, with one module for each kind or integration. No I/O."""

"""For `tenancy apply` and `tenancy preview`. Computes and writes the Tenant that results from a manifest."""

"""Code for `tenancy apply` and previews: predicts the Tenant that a manifest leads to, and writes Tenants."""

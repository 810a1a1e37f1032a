"""Code for `tenancy apply` and previews: predicts the result of applying a manifest, and writes Tenants."""

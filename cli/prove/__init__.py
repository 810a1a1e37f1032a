"""Code for `tenancy prove`: attempts to break the isolation of tenants, and reports the results."""

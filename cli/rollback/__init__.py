"""Code for `tenancy rollback`: finds the update whose spec is restored, and computes the changes."""

"""Code for `tenancy apply` and previews. It predicts the Tenant that results from a manifest, or writes
it.
"""

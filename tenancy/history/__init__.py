"""The history of a tenant: who wrote its specs and when, and the records of deleted tenants. No I/O."""

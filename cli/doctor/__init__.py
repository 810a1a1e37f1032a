"""`tenancy doctor`: is all there that tenants need, and does it work? Looks only; says how to mend it."""

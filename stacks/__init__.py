"""How a tenant is applied: its Pulumi stack, and every operation on it."""

"""When a tenant is applied: watches, queues, reconciles, writes status."""

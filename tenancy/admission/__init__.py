"""The rules of the API server itself that keep tenants inside their walls, in CEL."""

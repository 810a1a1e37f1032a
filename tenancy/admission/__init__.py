"""ValidatingAdmissionPolicies that isolate tenants. The API server evaluates them in CEL."""

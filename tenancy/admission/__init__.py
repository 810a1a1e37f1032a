"""ValidatingAdmissionPolicies that isolate tenants. The API server evaluates these policies."""

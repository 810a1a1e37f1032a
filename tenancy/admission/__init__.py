"""ValidatingAdmissionPolicies that isolate tenants. The API server evaluates their CEL expressions."""

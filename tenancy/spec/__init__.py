"""The models of Tenants and AISessions (spec and status), and the CRDs generated from these models."""

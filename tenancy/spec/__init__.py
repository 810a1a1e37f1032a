"""The models of Tenant and AISession, their spec and status, and the CRDs generated from them."""

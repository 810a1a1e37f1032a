"""`./dev audit`: lists known vulnerabilities and licenses of the dependencies, and writes their SBOMs."""

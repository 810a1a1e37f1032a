"""`./dev audit`: lists the known vulnerabilities and the licenses of the dependencies, and writes SBOMs."""

"""A package, so that package-scoped fixtures end after its last test: even an idle cluster uses CPU."""

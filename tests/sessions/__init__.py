"""A package, so that its fixtures can end with its last test: a cluster costs CPU even when idle."""

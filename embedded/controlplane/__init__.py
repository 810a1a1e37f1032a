"""A real Kubernetes control plane that runs as local processes."""

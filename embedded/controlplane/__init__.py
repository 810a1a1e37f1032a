"""A Kubernetes control plane that runs as local processes: the real etcd, API server and controllers."""

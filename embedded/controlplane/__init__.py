"""Runs a Kubernetes control plane as local processes: etcd, the API server and the controllers."""

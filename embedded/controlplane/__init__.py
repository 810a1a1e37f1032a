"""A Kubernetes control plane that runs as local processes.

It consists of the real etcd, API server and controllers.
"""

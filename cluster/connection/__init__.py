"""Connections to the API server: kubeconfig, identity, proxy, TLS and requests."""

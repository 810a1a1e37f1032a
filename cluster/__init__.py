"""Access to the Kubernetes API: the client, informers, and the live objects that they keep."""

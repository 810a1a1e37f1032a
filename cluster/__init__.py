"""Access to the Kubernetes API with a client, and with informers that keep copies of the live objects."""

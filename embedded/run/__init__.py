"""`./dev run`: runs the watcher as a local process, against an embedded control plane or a user's cluster.

It also installs the platform's objects in the cluster. The modules in this package call one running
`./dev run` an instance. A state folder has at most one instance.
"""

"""`./dev run`: runs the watcher as a local process, against an embedded control plane or a user's cluster.

The command also installs the platform's objects in the cluster, for example CRDs and admission policies. In
this package, an "instance" is one running `./dev run`. A state folder has at most one instance.
"""

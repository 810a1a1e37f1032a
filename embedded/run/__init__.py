"""`./dev run`: runs the watcher as a local process. By default, the watcher uses the embedded control plane.

With `--cluster`, the watcher uses a cluster of the user. The command also installs the platform's objects in
the cluster, for example CRDs and admission policies.

In this package, an "instance" is one running `./dev run`. At most one instance can use a state folder.
"""

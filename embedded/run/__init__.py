"""`./dev run`: a control plane, or a cluster of the user, with the platform and a local watcher process.

The modules call one running `./dev run` an instance. A state folder has at most one instance.
"""

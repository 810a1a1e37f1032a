"""The commands of `./dev`: the virtual environment, the tools and an embedded control plane.

The product (`tenancy`, `stacks`, `cluster`, `watcher`, `cli`) never imports this package.
"""

"""What stands under `./dev`: the virtual environment, the tools and a control plane of its own.

The product (`tenancy`, `stacks`, `watcher`) never imports this package: on a real cluster none of it runs.
"""

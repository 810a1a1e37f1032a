"""The developer commands `./dev`: virtual environment, tools, embedded control plane, checks.

The product (`tenancy`, `stacks`, `cluster`, `watcher`, `cli`) never imports this package.
"""

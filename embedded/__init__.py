"""The commands of `./dev`, the tool for developers of this project.

The commands create the virtual environment, get the tools, run an embedded control plane, and run tests and
checks. The product (`tenancy`, `stacks`, `cluster`, `watcher`, `cli`) never imports this package.
"""

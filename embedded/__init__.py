"""The commands of `./dev`, the tool for developers of this project.

The commands create the virtual environment, download or build the tools, run an embedded control plane, and
run tests and checks. The packages of the product (`tenancy`, `stacks`, `cluster`, `watcher`, `cli`) never
import this package.
"""

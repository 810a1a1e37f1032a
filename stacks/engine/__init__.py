"""The warm engine: a long-running Go process that runs the operations on all stacks.

The Pulumi CLI starts a new process for each operation. The warm engine is faster, because it keeps running.
The source of the process is in `engine/`.
"""

"""Operations on tenants' Pulumi stacks."""

import os

# This process forks to run each CLI command, even while its gRPC server for inline programs is running. The
# fork handlers of gRPC would delay every fork, and CLI commands do not need these handlers.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")

"""Operations on tenants' Pulumi stacks."""

import os

# CLI commands are forked while a gRPC server for the inline programs is running. The fork handlers of gRPC
# would delay every fork, and the commands do not need these handlers.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")

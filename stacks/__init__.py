"""Operations on tenants' Pulumi stacks."""

import os

# CLI commands are forked while a gRPC server for the inline programs runs. gRPC's fork handlers would delay
# every fork, and the commands do not need them.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")

"""Operations on tenants' Pulumi stacks."""

import os

# Commands are forked while gRPC serves the inline programs. Its fork handlers would delay every fork, and the
# commands do not need them.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")

"""How a tenant is applied: its Pulumi stack, and every operation on it."""

import os

# Commands are forked while gRPC serves the programs; its fork handlers would stall that for nothing.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")

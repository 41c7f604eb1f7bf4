"""The tests. Here, because gRPC reads its environment when it is first used, and this is imported before that."""

import os

# Tests start programs while gRPC's threads run. Its fork handlers would start threads of their own in the child, between fork
# and exec, and some children died of that; nobody here uses gRPC in a forked child.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

"""The Threadkeep server. `app` puts the layers together; see docs/architecture.md."""

import os

# gRPC reads it when it loads, so it is set before any module that imports grpc. What its lines report is raised or logged.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

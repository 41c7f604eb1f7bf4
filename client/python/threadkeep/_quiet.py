"""Keeps gRPC's own log lines off the terminal; imported before grpc, which reads the variable when it loads.

What they report (a connection that the server closed, a port that is taken) is raised or reported by this package.
GRPC_VERBOSITY, where it is set, stays as it is.
"""

import os

os.environ.setdefault("GRPC_VERBOSITY", "NONE")

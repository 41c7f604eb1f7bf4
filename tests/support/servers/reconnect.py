"""How clients of these tests reconnect: their servers restart many times a minute.

In a module that imports nothing, for the processes that tests start by the dozen.
"""

from __future__ import annotations

# The minimal backoff is not set: it is also the time that a server has to accept a connection, and a loaded machine needs more
# than a fraction of a second.
RECONNECT = (
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 200),
    ("grpc.use_local_subchannel_pool", 1),
)

"""The logger of the client, "threadkeep": what it did by itself. It never logs content."""

from __future__ import annotations

import logging

LOG = logging.getLogger("threadkeep")
"""INFO: a stream that is opened again. WARNING: a change that a handler rejected or parked."""
# Without it, Python prints warnings of programs that configured no logging.
LOG.addHandler(logging.NullHandler())

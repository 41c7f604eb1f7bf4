"""`python -m tests.bench.lines.telemetry.unmeasured serve`: the server without its measuring, the baseline of what that costs.

Nothing else differs. The server has no setting for it, because nobody should need one.
"""

import contextlib
import sys
from typing import Any

from threadkeep.cli import main
from threadkeep_server.store.sql.engine import postgres, sqlite
from threadkeep_server.store.sql.log import group_commit
from threadkeep_server.telemetry import instruments, rpcs, spans


class _NoCall:
    """In place of a measured call."""

    ended = True

    def succeeded(self) -> None:
        """Does nothing."""

    def failed(self, *_: object) -> None:
        """Does nothing."""


def _nothing(*_: Any) -> None:
    """In place of what counts."""


def unmeasure() -> None:
    """Takes all measuring and tracing of appends out of the server."""
    call: Any = _NoCall()
    context: Any = contextlib.nullcontext()
    for place, name, other in (
        (rpcs.Rpc, "begin", lambda *_: call),
        (instruments.Histogram, "add", _nothing),
        (group_commit, "count_outcome", _nothing),
        (group_commit, "recorded", _nothing),
        (group_commit, "commit_span", lambda _: context),
        (sqlite, "unit_span", lambda *_: spans.NOTHING),
        (postgres, "unit_span", lambda *_: spans.NOTHING),
    ):
        if not hasattr(place, name):
            raise SystemExit(f"{place} has no {name}: the server measures in another place now")
        setattr(place, name, other)


if __name__ == "__main__":
    unmeasure()
    sys.exit(main(sys.argv[1:]))

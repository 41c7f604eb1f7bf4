"""The spans of a group commit: one in the trace of each request whose trace is recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final

from ....telemetry.spans import Span, SpanKind, enter, leave
from .set_aside import Waiting

_NOTHING: Final = nullcontext()


def commit_span(group: Sequence[Waiting]) -> AbstractContextManager[None]:
    """Returns a context in which the group is committed. The statements are in the first of its traces."""
    parents = [waiting[3] for waiting in group if waiting[3] is not None]
    return _within(parents, len(group)) if parents else _NOTHING


@contextmanager
def _within(parents: Sequence[Span], size: int) -> Iterator[None]:
    attributes = {"threadkeep.commit.group_size": size}
    found = [parent.child("group commit", SpanKind.INTERNAL, attributes) for parent in parents]
    token = enter(found[0])
    error = ""
    try:
        yield
    except BaseException as exc:
        error = type(exc).__name__
        raise
    finally:
        leave(token)
        for each in found:
            each.end(error)

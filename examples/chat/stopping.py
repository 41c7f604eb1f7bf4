"""Exit of the examples on Ctrl-C."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet() -> Iterator[None]:
    """Exits on Ctrl-C without a traceback, with the exit code that shells expect."""
    try:
        yield
    except KeyboardInterrupt:
        raise SystemExit(130) from None

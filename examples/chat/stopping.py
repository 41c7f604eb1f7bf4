"""How the examples end when they are interrupted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet() -> Iterator[None]:
    """Ctrl-C ends the program without a traceback, with the exit code that shells expect."""
    try:
        yield
    except KeyboardInterrupt:
        raise SystemExit(130) from None

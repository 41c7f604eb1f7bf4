"""The reference store: what the contract means, in lists and dictionaries. Nothing outlives the process. A server runs on it
for tests and demos.

It is written to be read beside `base.py`: every list is gone through from end to end, and what a filter or a context selects
is what `domain.filters.select` and `domain.windows.select_context` say. No method awaits anything, so each is atomic on its
event loop.
"""

from .store import MemoryStore

__all__ = ["MemoryStore"]

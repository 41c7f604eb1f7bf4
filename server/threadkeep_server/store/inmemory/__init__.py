"""The reference store: the executable specification of the contract, in lists and dictionaries. Its data ends with the process.
A server runs on it for tests and demos.

Read it next to the contract. Every list is scanned from end to end; `domain.filters.select` and
`domain.context.select_context` decide what filters and contexts select. No method awaits anything, so each is atomic on its
event loop.
"""

from .store import InMemoryStore

__all__ = ["InMemoryStore"]

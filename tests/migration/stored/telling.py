"""What the databases of tests.migration hold: changes of every kind that a schema knows, each kind from its first schema on.

Do not edit a step: databases with its rows exist in `rows/`. A new schema that stores something new gets a step of its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from threadkeep_server.domain.model import EventDraft
from threadkeep_server.store.contract.store import Store

from . import later_steps, steps
from .story import SECOND, START, Story

Step = Callable[[Story], Awaitable[None]]
STEPS: Sequence[tuple[int, Step]] = (
    (1, steps.sessions),
    (2, steps.compactions),
    (3, steps.consumers),
    (4, steps.memories),
    (7, steps.archivings),
    (8, steps.listings),
    (9, later_steps.erasures),
    (13, later_steps.removals),
    (13, later_steps.clears),
    (14, later_steps.namespaces),
    (15, later_steps.states),
    (16, later_steps.updates),
    (17, later_steps.forks),
    (18, later_steps.moves),
)
"""Each with the first schema that stores what it does."""


async def tell(store: Store, schema: int, form: Callable[[EventDraft], EventDraft] = lambda each: each) -> None:
    """Stores what a database of the schema may hold."""
    for place, (since, step) in enumerate(STEPS):
        if since <= schema:
            # The times of a step are the same in all schemas.
            await step(Story(store, form, START + 1000 * SECOND * place))

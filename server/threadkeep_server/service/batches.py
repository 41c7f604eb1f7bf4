"""The checks of a batch of events."""

from __future__ import annotations

from collections.abc import Sequence

from ..domain.errors import BatchTooLarge, InvalidField
from ..domain.model import EventDraft
from ..domain.validation import Limits


def check_batch(drafts: Sequence[EventDraft], limits: Limits) -> None:
    """Raises BatchTooLarge, and InvalidField for an id that occurs twice."""
    size = sum(len(draft.body) for draft in drafts)
    if size > limits.max_batch_bytes:
        raise BatchTooLarge("events", size, limits.max_batch_bytes, "bytes")
    if len(drafts) <= 1:
        return
    seen: set[str] = set()
    for index, draft in enumerate(drafts):
        if draft.event_id in seen:
            raise InvalidField(f"events[{index}].event_id", "occurs twice in the batch")
        seen.add(draft.event_id)

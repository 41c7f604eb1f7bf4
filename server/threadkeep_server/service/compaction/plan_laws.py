"""The laws of plans that others made: callers of ApplyCompaction and ReplaceEvents, and webhooks."""

from __future__ import annotations

from collections.abc import Sequence

from ...compaction.validation import resulting, torn_pair
from ...domain.errors import BrokenToolPair, InvalidField
from ...domain.model import EventDraft, SessionRef, WindowEvent
from ...store.contract.codec import Codec
from ...store.contract.compaction import Inserts, WindowRead
from ..run_in_thread import MOST_EVENTS, run_in_thread


class PlanLaws:
    """Checks plans. All events that a plan names are active."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec

    async def check(self, ref: SessionRef, read: WindowRead, archive: Sequence[str], inserts: Inserts, branch: str) -> None:
        """Raises InvalidField for an event outside the branch, BrokenToolPair."""
        await run_in_thread(len(read.events), MOST_EVENTS, self._check, ref, read, archive, inserts, branch)

    def _check(self, ref: SessionRef, read: WindowRead, archive: Sequence[str], inserts: Inserts, branch: str) -> None:
        if branch:
            branches = {event.event_id: event.branch for event in read.events}
            for index, event_id in enumerate(archive):
                if branches[event_id] != branch:
                    raise InvalidField(f"event_ids.ids[{index}]", "is not of the branch that the compaction is restricted to")
        made = {before: [self._imagined(draft) for draft in drafts] for before, drafts in inserts.items()}
        torn = torn_pair(read.events, resulting(read.events, set(archive), made))
        if torn is not None:
            raise BrokenToolPair(ref, *torn)

    def _imagined(self, draft: EventDraft) -> WindowEvent:
        calls, results = self._codec.ties(draft.body)
        return WindowEvent(
            seq=0, time=0, role=draft.role, branch=draft.branch, event_id=draft.event_id, calls=calls, results=results
        )

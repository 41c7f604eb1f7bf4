"""Makes changes of windows again, and sets state, from an export."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, auto
from itertools import groupby

from .. import AsyncClient, AsyncStateHandle, LastEventId, LogVersion, StateVersion
from ..compaction import insert
from ..v1.session_pb2 import SessionRef
from .formats import EventItem, StateItem, WindowChange

_KEYS, _BYTES = 1000, 1 << 20


async def take_step(
    client: AsyncClient, ref: SessionRef, change: WindowChange, items: Sequence[EventItem], last_id: str
) -> Sequence[int]:
    """Makes a change, but for a rewind; returns the seqs of its events if the server reports them."""
    events = [item.event for item in items]
    if change.how == "compaction":
        for event in events:  # a tombstone does not have these
            event.synthetic, event.compaction_source = True, event.compaction_source or change.strategy or "custom"
        before = {each.event_id: each.before for each in change.placed}
        groups = groupby(events, lambda event: before.get(event.event_id, ""))
        await client.apply_compaction(
            ref,
            archive=change.archived,
            inserts=[insert(*some, before=anchor) for anchor, some in groups],
            expected_window_version=(await client.get_session(ref)).window_version,
            strategy=change.strategy,
            actor=change.actor,
        )
        return ()
    if change.how == "clear":
        await client.clear(ref, erase=change.erase)
        return ()
    if change.how == "none":
        version = (await client.get_session(ref)).log_version
        await client.rewind(ref, at_log_version=version, always=True, expect=LogVersion(version))
        return ()
    if change.how == "erasure":
        await client.erase_events(ref, change.erased)
        return ()
    if change.how == "suffix":
        replaced = await client.replace_suffix(ref, change.archived, *events, branch=change.branch, erase=change.erase)
        return [each.seq for each in replaced.events]
    appended = await client.append(ref, *events, if_exists="replace", erase_replaced=change.erase, expect=LastEventId(last_id))
    return [each.seq for each in appended.events]


class StateOutcome(Enum):
    """What became of a state: it was set, it had the values, or it has others, which stay."""

    SET = auto()
    SAME = auto()
    DIFFERENT = auto()


async def set_state(client: AsyncClient, item: StateItem) -> StateOutcome:
    """Sets the values of a state."""
    handle = AsyncStateHandle(client, item.scope, item.ref)
    present = await handle.get()
    if present.texts == dict(item.values):
        return StateOutcome.SAME
    # An import that was interrupted left a part of the values.
    other = {key for key, text in present.texts.items() if item.values.get(key) != text}
    removed = present.version and not present.texts  # since an import
    if (other or removed) and not item.replace:
        return StateOutcome.DIFFERENT
    version = present.version
    for some in chunks({key: text for key, text in item.values.items() if present.texts.get(key) != text}):
        version = await handle.patch(set_json=some, expect=StateVersion(version))
    leaving = sorted(other.difference(item.values))
    for start in range(0, len(leaving), _KEYS):
        version = await handle.patch(remove=leaving[start : start + _KEYS], expect=StateVersion(version))
    return StateOutcome.SET


def chunks(values: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Splits values into patches."""
    some: dict[str, str] = {}
    size = 0
    for key, text in values.items():
        if some and (len(some) >= _KEYS or size + len(text) > _BYTES):
            yield some
            some, size = {}, 0
        some[key] = text
        size += len(text) + len(key)
    if some:
        yield some

"""Makes changes of windows again, and sets state, from an export."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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


async def set_state(client: AsyncClient, item: StateItem) -> bool:
    """Sets the values of a state. Returns False if it has them, or has others, which stay."""
    handle = AsyncStateHandle(client, item.scope, item.ref)
    present = await handle.get()
    # An import that was interrupted left a part of the values.
    if any(item.values.get(key) != text for key, text in present.texts.items()) or present.texts == dict(item.values):
        return False
    if present.version and not present.texts:
        return False  # removed since
    missing = {key: text for key, text in item.values.items() if key not in present.texts}
    version = present.version
    for some in chunks(missing):
        version = await handle.patch(set_json=some, expect=StateVersion(version))
    return bool(missing)


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

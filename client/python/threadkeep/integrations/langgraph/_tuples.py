"""Checkpoint tuples of LangGraph from records, and what follows from their parents."""

from __future__ import annotations

from collections.abc import AsyncIterable, Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    CheckpointTuple,
    DeltaChannelHistory,
    PendingWrite,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from ...formats.langgraph import Record

Key = tuple[str, str]


def config_of(thread_id: str, namespace: str, checkpoint_id: str) -> RunnableConfig:
    """The config of a checkpoint."""
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": namespace, "checkpoint_id": checkpoint_id}}


def tuple_of(record: Record, serde: SerializerProtocol) -> CheckpointTuple:
    """The tuple of a checkpoint."""
    parent = record.parent_id
    return CheckpointTuple(
        config=config_of(record.thread_id, record.namespace, record.checkpoint_id),
        checkpoint=serde.loads_typed(record.checkpoint),
        metadata=serde.loads_typed(record.metadata),
        parent_config=config_of(record.thread_id, record.namespace, parent) if parent else None,
        pending_writes=_pending(record, serde),
    )


def _pending(record: Record, serde: SerializerProtocol) -> list[PendingWrite]:
    return [(write.task_id, write.channel, serde.loads_typed(write.value)) for write in record.writes]


async def delta_history(
    records: AsyncIterable[Record], checkpoint_id: str | None, channels: Sequence[str], serde: SerializerProtocol
) -> Mapping[str, DeltaChannelHistory]:
    """The writes to channels on the way to a checkpoint, by default the first of `records`, since the last stored values.

    `records`: a checkpoint comes before its parent. A stored value is the state on entering its checkpoint, so the writes of
    that checkpoint are part of the result.
    """
    writes: dict[str, list[PendingWrite]] = {channel: [] for channel in channels}
    seeds: dict[str, Any] = {}
    target, wanted = checkpoint_id, None
    async for record in records:
        if wanted is None:
            if target is None or record.checkpoint_id == target:
                wanted = record.parent_id
                if wanted is None:
                    break
        elif record.checkpoint_id == wanted:
            values = serde.loads_typed(record.checkpoint)["channel_values"]
            for write in reversed(_pending(record, serde)):
                if write[1] in writes and write[1] not in seeds:
                    writes[write[1]].append(write)
            seeds.update({channel: values[channel] for channel in channels if channel in values and channel not in seeds})
            wanted = record.parent_id
            if wanted is None or len(seeds) == len(writes):
                break
    found: dict[str, DeltaChannelHistory] = {channel: {"writes": writes[channel][::-1]} for channel in channels}
    for channel, seed in seeds.items():
        found[channel]["seed"] = seed
    return found


def kept_by_pruning(records: Sequence[Record], serde: SerializerProtocol) -> set[Key]:
    """The newest checkpoint of each namespace, and the ancestors without which its delta channels could not be rebuilt.

    `records`: the newest first.
    """
    stored = {(record.namespace, record.checkpoint_id): record for record in records}
    newest: dict[str, Record] = {}
    for record in records:
        newest.setdefault(record.namespace, record)
    kept: set[Key] = set()
    for record in newest.values():
        kept.add((record.namespace, record.checkpoint_id))
        counters = serde.loads_typed(record.metadata).get("counters_since_delta_snapshot") or {}
        missing = set(counters) - set(serde.loads_typed(record.checkpoint)["channel_values"])
        ancestor: Record | None = record
        while missing and ancestor is not None and ancestor.parent_id:
            ancestor = stored.get((ancestor.namespace, ancestor.parent_id))
            if ancestor is not None:
                kept.add((ancestor.namespace, ancestor.checkpoint_id))
                missing -= set(serde.loads_typed(ancestor.checkpoint)["channel_values"])
    return kept

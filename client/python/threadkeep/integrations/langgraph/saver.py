"""The checkpointer of LangGraph."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from ..._convert import CreateOptions
from ...formats.langgraph import Record, Write
from .._bridge import AnyClient, Bridge
from ._known import Seqs
from ._messages import Conversation, is_own, messages_of
from ._threads import Threads
from ._tuples import config_of, delta_history, kept_by_pruning, tuple_of


class ThreadkeepSaver(BaseCheckpointSaver[int]):
    """A checkpointer: pass it to `compile` or `create_agent`. A thread is the session with its id, and a checkpoint an event.

    client: says the app and the user of the sessions. An AsyncClient for `ainvoke` and `astream`; a Client for `invoke` and
    `stream`, whose asynchronous methods use threads. messages: the channel whose new messages are also stored as events of the
    conversation, in the same commit, for agents of other frameworks; None stores none. create: how a thread's session is
    created, for example {"never_expires": True}; by default it expires as the server says. user_id: whose threads it keeps; by
    default the client's user. A saver for each user may share the client. serde: as in LangGraph.

    Deletions need the role admin. Errors of calls are `ThreadkeepError`.
    """

    def __init__(
        self,
        client: AnyClient,
        *,
        messages: str | None = "messages",
        create: CreateOptions | None = None,
        user_id: str | None = None,
        serde: SerializerProtocol | None = None,
    ) -> None:
        super().__init__(serde=serde)
        seqs = Seqs()
        self._bridge = Bridge(client, lambda calls: Threads(calls, seqs, create, user_id))
        self._conversation = Conversation(messages)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint of the config, by default the one that was stored last; None if there is none."""
        return await self._get(self._bridge.awaited, config)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """As `aget_tuple`."""
        return self._bridge.run(self._get(self._bridge.blocking, config))

    async def _get(self, threads: Threads, config: RunnableConfig) -> CheckpointTuple | None:
        thread_id, namespace, checkpoint_id = _place(config)
        if checkpoint_id:
            record = await threads.checkpoint(thread_id, namespace or "", checkpoint_id)
        else:
            record = await threads.latest(thread_id, namespace or "")
        if record is None:
            return None
        found = tuple_of(record, self.serde)
        if not record.namespace:
            self._conversation.read(thread_id, found.checkpoint)
            for write, (_, channel, value) in zip(record.writes, found.pending_writes or (), strict=True):
                self._conversation.wrote(thread_id, record.checkpoint_id, write.order, channel, value)
        return found

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - as in LangGraph
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Iterate over checkpoints, in each thread the last stored first.

        config: the thread, by default all of the client's user; its namespace, by default all; its checkpoint. filter: values
        of the metadata that must be equal. before: only checkpoints that were stored before this one. limit: at most so many.
        """
        async for found in self._list(self._bridge.awaited, config, filter, before, limit):
            yield found

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - as in LangGraph
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """As `alist`."""
        return self._bridge.iterate(self._list(self._bridge.blocking, config, filter, before, limit))

    async def _list(
        self,
        threads: Threads,
        config: RunnableConfig | None,
        wanted: Mapping[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> AsyncIterator[CheckpointTuple]:
        left = -1 if limit is None else max(limit, 0)
        thread_id, namespace, checkpoint_id = _place(config) if config else ("", None, "")
        until = _place(before)[2] if before else ""
        if left == 0:
            return
        for each in [thread_id] if config else await threads.of_user():
            async for record in threads.checkpoints(each, namespace, before=until):
                if checkpoint_id and record.checkpoint_id != checkpoint_id:
                    continue
                if wanted and not _matches(self.serde.loads_typed(record.metadata), wanted):
                    continue
                yield tuple_of(record, self.serde)
                left -= 1
                if left == 0:
                    return

    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        """Store a checkpoint whose parent is that of the config, and the new messages in it; return its config.

        It is on durable storage when this returns. Storing a checkpoint again changes nothing.
        """
        return await self._put(self._bridge.awaited, config, checkpoint, metadata)

    def put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        """As `aput`."""
        return self._bridge.run(self._put(self._bridge.blocking, config, checkpoint, metadata))

    async def _put(
        self, threads: Threads, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata
    ) -> RunnableConfig:
        thread_id, namespace, parent_id = _place(config)
        complete = get_checkpoint_metadata(config, metadata)
        record = Record(
            namespace=namespace or "",
            checkpoint_id=checkpoint["id"],
            parent_id=parent_id or None,
            run_id=str(complete.get("run_id") or ""),
            checkpoint=self.serde.dumps_typed(checkpoint),
            metadata=self.serde.dumps_typed(complete),
        )
        about = {"source": str(metadata.get("source", "")), "step": metadata.get("step", 0), "parent": parent_id}
        messages = self._conversation.in_checkpoint(thread_id, checkpoint, record)
        await threads.put(thread_id, record, about, messages)
        self._conversation.store(thread_id, messages.messages)
        return config_of(thread_id, record.namespace, record.checkpoint_id)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store the writes of a task of a checkpoint. The first write with an index stays; special ones are replaced."""
        await self._put_writes(self._bridge.awaited, config, writes, task_id, task_path)

    def put_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        """As `aput_writes`."""
        self._bridge.run(self._put_writes(self._bridge.blocking, config, writes, task_id, task_path))

    async def _put_writes(
        self, threads: Threads, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> None:
        thread_id, namespace, checkpoint_id = _place(config)
        made: list[Write] = []
        for index, (channel, value) in enumerate(writes):
            place = WRITES_IDX_MAP.get(channel, index)
            typed = self.serde.dumps_typed(value)
            write = Write(namespace or "", checkpoint_id, task_id, task_path, place, channel, typed)
            made.append(write)
            if not write.namespace:
                self._conversation.wrote(thread_id, checkpoint_id, write.order, channel, value)
        await threads.put_writes(thread_id, checkpoint_id, made)

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete a thread: its session, with the messages of all who wrote in it. An unknown one is ignored."""
        await self._delete(self._bridge.awaited, thread_id)

    def delete_thread(self, thread_id: str) -> None:
        """As `adelete_thread`."""
        self._bridge.run(self._delete(self._bridge.blocking, thread_id))

    async def _delete(self, threads: Threads, thread_id: str) -> None:
        self._conversation.forget(str(thread_id))
        await threads.delete(str(thread_id))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Erase what runs stored: their checkpoints with the writes, and the messages that they added to the conversation.

        It reads all sessions of the client's user. Unknown runs are ignored.
        """
        await self._bridge.awaited.erase_runs(run_ids)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """As `adelete_for_runs`."""
        self._bridge.run(self._bridge.blocking.erase_runs(run_ids))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Make a new thread that is a copy of another one: all its checkpoints, writes and messages.

        Raises SessionNotFound, and SessionAlreadyExists for a target that exists.
        """
        await self._bridge.awaited.copy(str(source_thread_id), str(target_thread_id))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """As `acopy_thread`."""
        self._bridge.run(self._bridge.blocking.copy(str(source_thread_id), str(target_thread_id)))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Erase checkpoints of threads, with their writes; the conversation stays.

        "keep_latest" keeps the newest checkpoint of each namespace, and the ancestors that its delta channels are rebuilt
        from. "delete" keeps none. Unknown threads are ignored. Raises ValueError for another strategy.
        """
        await self._prune(self._bridge.awaited, thread_ids, strategy)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """As `aprune`."""
        self._bridge.run(self._prune(self._bridge.blocking, thread_ids, strategy))

    async def _prune(self, threads: Threads, thread_ids: Sequence[str], strategy: str) -> None:
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"strategy must be 'keep_latest' or 'delete', not {strategy!r}")
        for thread_id in map(str, thread_ids):
            records = [record async for record in threads.checkpoints(thread_id, None)]
            kept = kept_by_pruning(records, self.serde) if strategy == "keep_latest" else set()
            gone = [each for each in records if (each.namespace, each.checkpoint_id) not in kept]
            await threads.erase(thread_id, gone)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return the writes to delta channels since the last stored values, in one read of the namespace."""
        return await self._history(self._bridge.awaited, config, channels)

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """As `aget_delta_channel_history`."""
        return self._bridge.run(self._history(self._bridge.blocking, config, channels))

    async def _history(
        self, threads: Threads, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        if not channels:
            return {}
        thread_id, namespace, checkpoint_id = _place(config)
        records = threads.checkpoints(thread_id, namespace or "")
        return await delta_history(records, checkpoint_id or None, channels, self.serde)

    async def amessages_of_others(self, config: RunnableConfig) -> Sequence[AnyMessage]:
        """Return the messages of the thread that other writers added and the graph's state does not have, oldest first.

        Pass them with the input of the next run: `{"messages": [*others, HumanMessage(...)]}`. They are of the active window,
        without instructions to models and summaries, and are not stored again.
        """
        return await self._others(self._bridge.awaited, config)

    def messages_of_others(self, config: RunnableConfig) -> Sequence[AnyMessage]:
        """As `amessages_of_others`."""
        return self._bridge.run(self._others(self._bridge.blocking, config))

    async def _others(self, threads: Threads, config: RunnableConfig) -> Sequence[AnyMessage]:
        thread_id, _, _ = _place(config)
        latest = await threads.latest(thread_id, "")
        state = self.serde.loads_typed(latest.checkpoint) if latest is not None else {"channel_values": {}}
        known = {message.id for message in self._conversation.in_state(state)}
        events = [event for event in await threads.conversation(thread_id) if not is_own(event)]
        found = [message for event in events for message in messages_of(event)]
        return [message for message in found if message.id not in known]

    def get_next_version(self, current: int | None, channel: None) -> int:
        """Return the version that follows: a number. A thread that was imported from SQLite or PostgreSQL has texts that begin
        with a number, and continues with those."""
        known: Any = current
        if isinstance(known, str):
            following: Any = f"{int(known.partition('.')[0]) + 1:032}.0"
            return following  # type: ignore[no-any-return]
        return (known or 0) + 1


def _place(config: RunnableConfig) -> tuple[str, str | None, str]:
    """The thread, the namespace and the checkpoint of a config."""
    given = config["configurable"]
    return str(given["thread_id"]), given.get("checkpoint_ns"), str(given.get("checkpoint_id") or "")


def _matches(metadata: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(metadata.get(key) == value for key, value in wanted.items())

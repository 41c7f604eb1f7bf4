"""The SQL store, composed of one part per subject."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

from ..contract.codec import Codec
from ..contract.maintenance import PoolUse
from ..notifier import CommitNotifier
from .compaction.store import SqlCompactions
from .consumers.store import SqlConsumers
from .encryption.codec import StoredCodec
from .encryption.encrypter import Encrypter
from .encryption.vault import Vault, open_vault
from .engine.base import Capability, Engine, SqlOptions, Unit
from .engine.factory import open_engine
from .erasure.store import SqlErasures
from .event_removals.store import SqlRemovals
from .event_removals.tombstones import Eraser
from .feed.stalls import StallWatch
from .feed.store import SqlFeed
from .forks.store import SqlForks
from .log.slices.archivings import archivings, mark_slice
from .log.slices.removals import removals, remove_slice
from .log.slices.worker import Slices
from .log.store import GroupedWrites, SqlEvents, SqlSessions
from .log.unit_runner import UnitRunner, translate_errors
from .maintenance import SqlMaintenance
from .memories.store import SqlMemories, open_memory_index
from .moves.store import SqlMoves
from .scan_budget import ScanLimits
from .schema import incarnations, versions
from .search.cleaner import Cleaner, Merged
from .search.indexer import Indexer
from .search.store import SqlSearch
from .search.term_index import TermIndex
from .search.text_index import TextIndex, open_index
from .session_reads.store import SqlSessionReads
from .state.store import SqlStates
from .vectors.index import VectorIndex
from .vectors.pgvector import open_vectors
from .vectors.store import SqlVectors


class Prepared(NamedTuple):
    """What a prepared database offers; an index is None if there is none or none is wanted."""

    store_id: str
    begin: Unit[incarnations.Begun]
    begun: incarnations.Begun
    events: TextIndex | None
    memories: TermIndex | None
    vectors: VectorIndex | None
    vault: Vault | None
    stored_index: TextIndex
    """The index of events as earlier servers filled it, wanted or not."""


class SqlStore:
    """Store on a database. Its methods are those of its parts. `open_store` creates it and owns its background tasks."""

    def __init__(self, engine: Engine, codec: Codec, clock: Callable[[], int], options: SqlOptions, prepared: Prepared) -> None:
        indexed = prepared.events is not None
        self._engine = engine
        self._vault = prepared.vault
        self._units = UnitRunner(engine, StoredCodec(codec, prepared.vault), meters=options.meters)
        seen = incarnations.SeenIncarnations(prepared.begun.stored)
        # Behind a pooler, the one that another server begins is seen by reading.
        engine.on_restart(prepared.begin, lambda begun: seen.see(begun.stored))
        self._commits = CommitNotifier(engine.peers.announce)
        self._vector_index = prepared.vectors
        self._tasks: list[asyncio.Task[None]] = []
        self._writes = GroupedWrites(self._units, self._commits, max_pending_bytes=options.max_pending_bytes)
        self._remover = Slices(self._units, "removing events of deleted sessions", removals, remove_slice)
        self._archiver = Slices(self._units, "marking archived events", archivings, mark_slice)
        self._cleaner = self._new_cleaner(prepared)
        deleted = [self._remover.hint] + ([] if self._cleaner is None else [self._cleaner.hint])
        self._use_sessions(SqlSessions(self._units, self._writes, self._commits, clock, deleted))
        scan_limits = ScanLimits(options.search_scan_bytes, options.search_scan_seconds)
        self._use_events(SqlEvents(self._units, self._writes, self._commits, scan_limits))
        self._eraser = Eraser(self._units, prepared.stored_index, deleted)
        self._use_states(SqlStates(self._units, self._writes.patch))
        self._use_session_reads(SqlSessionReads(self._units, scan_limits))
        self._use_compactions(SqlCompactions(self._units, self._archiver, self._commits))
        self.remove = SqlRemovals(self._units, self._archiver, self._eraser, self._commits, clock).remove
        self._forks = SqlForks(self._units, self._archiver, self._eraser, self._commits, deleted, clock)
        self.fork = self._forks.fork
        self.move_session = SqlMoves(self._units, self._commits).move_session
        self._use_feed(SqlFeed(self._units, self._commits, seen, indexed=indexed))
        transactions = Capability.FUNCTIONS in engine.capabilities
        self._encrypter: Encrypter | None = None
        if prepared.vault is not None:
            indexes = prepared.stored_index, prepared.memories
            self._encrypter = Encrypter(self._units, options.encrypted_tenants, *indexes, deleted)
        self._stalls = StallWatch(self._units, self.feed_state, options.stall_alarm if transactions else 0)
        self._use_consumers(SqlConsumers(self._units, seen))
        self._use_search(SqlSearch(self._units, prepared.events, scan_limits))
        self._use_vectors(SqlVectors(self._units, prepared.vectors))
        self._memories = SqlMemories(self._units, prepared.memories, scan_limits, deleted)
        self._use_memories(self._memories)
        erasures = SqlErasures(self._units, prepared.memories, [self._commits.committed, *deleted], clock)
        self.erase, self.list_users = erasures.erase, erasures.list_users
        facts = SqlMaintenance(self._units, self._writes, prepared.store_id, prepared.begun.token_key, indexed=indexed)
        self._use_maintenance(facts)
        self._indexer: Indexer | None = None
        if prepared.events is not None:
            gave = None if prepared.vectors is None else prepared.vectors.gave
            self._indexer = Indexer(self._units.statements, prepared.events, codec, gave, busy=self._writes.busy)
            self._commits.subscribe(self._indexer.hint)

    def _new_cleaner(self, prepared: Prepared) -> Cleaner | None:
        """Returns what removes deleted content from files; None where these are not the server's."""
        if Capability.FTS5 not in self._engine.capabilities:
            return None
        of_events = Merged(self._units.index, prepared.events.tables if prepared.events is not None else ())
        of_memories = Merged(self._units.write, prepared.memories.tables if prepared.memories is not None else ())
        return Cleaner(self._units, self._remover, (of_events, of_memories), indexed=prepared.events is not None)

    def start(self) -> None:
        self._run("writer", self._writes.run())
        self._run("remover", self._remover.run())
        self._run("archiver", self._archiver.run())
        self._run("eraser", self._eraser.run())
        self._run("unfinished forks", self._forks.run())
        if self._indexer is not None:
            self._run("indexer", self._indexer.run())
        if self._cleaner is not None:
            self._run("cleaner", self._cleaner.run())
        self._run("memory index", self._memories.keep_index())
        if self._vector_index is not None:
            self._run("vector index", self._vector_index.run())
        if self._vault is not None:
            self._run("keys of tenants", self._vault.run())
        if self._encrypter is not None:
            self._run("encrypter", self._encrypter.run())
        self._run("stall watch", self._stalls.run())
        self._run("connections", self._engine.keep_connections())
        self._run("listener", self._engine.peers.run(self._commits.notify))

    def _run(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(asyncio.create_task(work, name=name))

    async def aclose(self) -> None:
        self._writes.close()
        if self._cleaner is not None:
            await self._cleaner.finish()
        for task in reversed(self._tasks):
            if task.get_name() != "writer":
                task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        self._tasks.clear()

    @property
    def feed_stalled_s(self) -> float:
        return self._stalls.stalled_s

    @property
    def pool(self) -> PoolUse:
        return self._engine.pool()

    # --- the methods of the parts, in the order of the contract

    def _use_sessions(self, sessions: SqlSessions) -> None:
        self.create_session = sessions.create_session
        self.get_session = sessions.get_session
        self.list_sessions = sessions.list_sessions
        self.update_session = sessions.update_session
        self.delete_session = sessions.delete_session
        self.sweep_facts = sessions.sweep_facts
        self.expired_sessions = sessions.expired_sessions
        self.delete_expired = sessions.delete_expired
        self.delete_seen = sessions.delete_seen
        self.delete_unchanged = sessions.delete_unchanged
        self.tenants = sessions.tenants

    def _use_events(self, events: SqlEvents) -> None:
        self.append = events.append
        self.get_event = events.get_event
        self.list_events = events.list_events
        self.get_context = events.get_context
        self.on_append = events.on_append

    def _use_states(self, states: SqlStates) -> None:
        self.get_state = states.get_state
        self.patch_state = states.patch_state

    def _use_session_reads(self, reads: SqlSessionReads) -> None:
        self.load_session = reads.load_session
        self.list_branches = reads.list_branches
        self.list_usage = reads.list_usage
        self.erasable = reads.erasable

    def _use_compactions(self, compactions: SqlCompactions) -> None:
        self.read_window = compactions.read_window
        self.compact = compactions.compact
        self.get_compaction = compactions.get_compaction
        self.list_compactions = compactions.list_compactions
        self.put_policy = compactions.put_policy
        self.policies = compactions.policies
        self.lease = compactions.lease
        self.release = compactions.release

    def _use_feed(self, feed: SqlFeed) -> None:
        self.changes = feed.changes
        self.change_events = feed.change_events
        self.feed_head = feed.feed_head
        self.feed_floor = feed.feed_floor
        self.locate = feed.locate
        self.trim_feed = feed.trim_feed
        self.feed_state = feed.feed_state
        self.incarnations = feed.incarnations
        self.on_incarnation = feed.on_incarnation
        self.on_change = feed.on_change

    def _use_consumers(self, consumers: SqlConsumers) -> None:
        self.join_consumer = consumers.join_consumer
        self.balance = consumers.balance
        self.acknowledge = consumers.acknowledge
        self.reject = consumers.reject
        self.park = consumers.park
        self.release_partitions = consumers.release_partitions
        self.leave = consumers.leave
        self.finish_replay = consumers.finish_replay
        self.consumers = consumers.consumers
        self.consumer = consumers.consumer
        self.delete_consumer = consumers.delete_consumer
        self.parked = consumers.parked
        self.replay_parked = consumers.replay_parked
        self.delete_parked = consumers.delete_parked

    def _use_search(self, search: SqlSearch) -> None:
        self.search = search.search
        self.word_candidates = search.word_candidates
        self.neighbor_candidates = search.neighbor_candidates
        self.events_by_key = search.events_by_key
        self.event_keys = search.event_keys

    def _use_vectors(self, vectors: SqlVectors) -> None:
        self.vector_model = vectors.vector_model
        self.unembedded = vectors.unembedded
        self.put_embeddings = vectors.put_embeddings
        self.waiting_for = vectors.waiting_for
        self.event_vectors = vectors.event_vectors
        self.memory_vectors = vectors.memory_vectors
        self.nearest = vectors.nearest

    def _use_memories(self, memories: SqlMemories) -> None:
        self.add_memories = memories.add_memories
        self.list_memories = memories.list_memories
        self.memories_by_key = memories.memories_by_key
        self.memories_holding = memories.memories_holding
        self.memory_candidates = memories.memory_candidates
        self.forget = memories.forget
        self.write_memories = memories.write_memories
        self.memories_by_name = memories.memories_by_name
        self.refresh_memories = memories.refresh_memories
        self.memory_namespaces = memories.memory_namespaces
        self.sweep_memories = memories.sweep_memories
        self.count_expired_memories = memories.count_expired_memories

    def _use_maintenance(self, maintenance: SqlMaintenance) -> None:
        self.note = maintenance.note
        self.put_note = maintenance.put_note
        self.info = maintenance.info
        self.ping = maintenance.ping
        self.put_server = maintenance.put_server
        self.remove_server = maintenance.remove_server
        self.stored_bytes = maintenance.stored_bytes


@asynccontextmanager
async def open_store(
    url: str, codec: Codec, *, clock: Callable[[], int] = time.time_ns, options: SqlOptions | None = None
) -> AsyncIterator[SqlStore]:
    """Opens the store at a URL, migrated and running.

    Raises SchemaTooNew, DatabaseInUse, ForeignDatabase, StoreUnavailable, KeyProblem, ValueError for an unknown scheme.
    """
    options = options or SqlOptions()
    async with AsyncExitStack() as stack:
        engine = open_engine(url, options)
        stack.push_async_callback(engine.aclose)
        prepared = await translate_errors(engine, _prepare(engine, options, codec.words_version))
        store = SqlStore(engine, codec, clock, options, prepared)
        stack.push_async_callback(store.aclose)
        store.start()
        yield store


async def _prepare(engine: Engine, options: SqlOptions, words_version: int) -> Prepared:
    """Migrates the database and opens its indexes."""
    await versions.prepare(engine)
    await engine.open()
    begin = versions.alone(engine, lambda connection: incarnations.begin(connection, engine))
    begun = await engine.write(begin)
    index = await open_index(engine)
    # Even if no index is wanted: text filters read derived tables that an earlier server may have filled.
    await engine.index(versions.alone(engine, lambda connection: index.prepare(connection, engine, words_version)))
    memories = await open_memory_index(engine, index.words)
    store_id = await engine.read(lambda connection: versions.get(connection, "store_id"))
    vectors = await open_vectors(engine)
    vault = await open_vault(engine, options)
    return Prepared(store_id or "", begin, begun, index if options.search_index else None, memories, vectors, vault, index)

"""The long-term store of LangGraph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)

from ..._async.client import AsyncClient
from ..._async.memories import AsyncUserMemory
from ..._search import memory_name
from ...v1.memory_pb2 import MemoryEntry, MemoryName, MetadataCondition
from ...v1.memory_service_pb2 import ListMemoriesResponse, ListMemoryNamespacesResponse
from .._bridge import AnyClient, Bridge, Calls, chunks
from ._items import (
    UNINDEXED,
    conditions_of,
    entry_of,
    first_path,
    item_of,
    matches,
    namespace_matches,
    search_item_of,
    value_of,
)

_MOST_WRITES = 500
_MOST_FOUND = 1000
_MOST_QUERIED = 1024
_PAGE = 100
_Name = tuple[tuple[str, ...], str]


class ThreadkeepStore(BaseStore):
    """A long-term store: pass it to `compile` or `create_agent`. An item is an entry of a user's memory, with its namespace.

    client: an AsyncClient for the asynchronous methods, a Client for the others; see ThreadkeepSaver. fields: the paths of a
    value that queries search, as in LangGraph's `index`; by default the whole value. ttl: as in LangGraph, by default entries
    do not expire, and a read of one with a ttl refreshes it. user_id, app: whose memory it is; by default the client's.

    The server searches by words, and by meaning if it has an embedder. Entries that other writers added are found too; their
    value is their metadata with the `text`. A value has at most 256 KiB of JSON. Deletions need the role admin, reads that
    refresh a ttl the role writer. Errors of calls are `ThreadkeepError`.
    """

    supports_ttl = True

    def __init__(
        self,
        client: AnyClient,
        *,
        fields: Sequence[str] = ("$",),
        ttl: TTLConfig | None = None,
        user_id: str | None = None,
        app: str | None = None,
    ) -> None:
        self.ttl_config = ttl
        self._bridge = Bridge(client, lambda calls: _Memory(calls, fields, user_id, app))

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations and return their results, in order: all reads first, as of before the writes.

        Of several writes of an item the last one counts. Up to 500 writes are all stored or none.
        """
        return self._bridge.run(self._bridge.blocking.batch(list(ops)))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`."""
        return await self._bridge.awaited.batch(list(ops))


class _Memory:
    """The memory of one user."""

    def __init__(self, calls: Calls, fields: Sequence[str], user_id: str | None, app: str | None) -> None:
        self._calls = calls
        self._fields = fields
        self._user_id, self._app = user_id, app

    async def batch(self, ops: Sequence[Op]) -> list[Result]:
        results: list[Result] = [None] * len(ops)
        gets: dict[int, GetOp] = {}
        puts: dict[_Name, PutOp] = {}
        for index, op in enumerate(ops):
            if isinstance(op, GetOp):
                gets[index] = op
            elif isinstance(op, SearchOp):
                results[index] = await self._search(op)
            elif isinstance(op, ListNamespacesOp):
                results[index] = await self._namespaces(op)
            elif isinstance(op, PutOp):
                puts[op.namespace, op.key] = op
            else:
                raise TypeError(f"unknown operation {type(op).__name__}")
        for refreshing in (True, False):
            some = {index: op for index, op in gets.items() if bool(op.refresh_ttl) is refreshing}
            for index, item in (await self._get(some, refreshing)).items():
                results[index] = item
        await self._put(list(puts.values()))
        return results

    async def _get(self, ops: dict[int, GetOp], refresh: bool) -> dict[int, Item | None]:
        if not ops:
            return {}
        names = {_name(op.namespace, op.key): None for op in ops.values()}
        wanted = [memory_name(key, namespace) for namespace, key in names]
        entries: list[MemoryEntry | None] = []
        for some in chunks(wanted, _MOST_FOUND):
            entries += await self._get_some(some, refresh)
        found = dict(zip(names, entries, strict=True))
        return {
            index: item_of(entry) if (entry := found[_name(op.namespace, op.key)]) is not None else None
            for index, op in ops.items()
        }

    async def _get_some(self, names: Sequence[MemoryName], refresh: bool) -> Sequence[MemoryEntry | None]:
        return await self._calls(lambda client: self._of(client).get_many(names, refresh_ttl=refresh))

    async def _put(self, ops: Sequence[PutOp]) -> None:
        entries = [entry_of(op, self._fields) for op in ops if op.value is not None]
        for some in chunks(entries, _MOST_WRITES):
            await self._upsert(some)
        for names in chunks([memory_name(op.key, op.namespace) for op in ops if op.value is None], _MOST_FOUND):
            await self._delete(names)

    async def _upsert(self, entries: Sequence[MemoryEntry]) -> None:
        await self._calls(lambda client: self._of(client).upsert(*entries))

    async def _delete(self, names: Sequence[MemoryName]) -> None:
        await self._calls(lambda client: self._of(client).delete(names))

    async def _search(self, op: SearchOp) -> list[SearchItem]:
        end = op.offset + op.limit
        found = await (self._queried(op, end) if op.query and op.query.strip() else self._listed(op, end))
        scored = bool(op.query and op.query.strip())
        return [search_item_of(entry, scored=scored) for entry in found[op.offset : end]]

    async def _queried(self, op: SearchOp, end: int) -> list[MemoryEntry]:
        """Hits of a query, best first. Where the rest of a filter drops some, the search is repeated with the most hits."""
        conditions, left = conditions_of(op.filter)
        found: list[MemoryEntry] = []
        for most in sorted({min(end, _MOST_FOUND), _MOST_FOUND}):
            entries = await self._hits(op, conditions, most)
            found = [each for each in entries if each.author != UNINDEXED and matches(value_of(each), left)]
            if len(found) >= end or len(entries) < most:
                break
        return found

    async def _hits(self, op: SearchOp, conditions: Sequence[MetadataCondition], most: int) -> Sequence[MemoryEntry]:
        found = await self._calls(
            lambda client: self._of(client).search(
                (op.query or "")[:_MOST_QUERIED],
                top_k=most,
                namespace_prefix=op.namespace_prefix,
                conditions=conditions,
                refresh_ttl=op.refresh_ttl,
            )
        )
        return found.entries

    async def _listed(self, op: SearchOp, end: int) -> list[MemoryEntry]:
        """Entries, the last written first."""
        conditions, left = conditions_of(op.filter)
        found: list[MemoryEntry] = []
        token, more = "", True
        while more and len(found) < end:
            page = await self._page(op, conditions, _PAGE if left else min(end - len(found), _MOST_FOUND), token)
            found += [entry for entry in page.entries if matches(value_of(entry), left)]
            token = page.next_page_token
            more = bool(token)
        return found

    async def _page(self, op: SearchOp, conditions: Sequence[MetadataCondition], size: int, token: str) -> ListMemoriesResponse:
        return await self._calls(
            lambda client: self._of(client).list_page(
                page_size=size,
                page_token=token,
                namespace_prefix=op.namespace_prefix,
                conditions=conditions,
                refresh_ttl=op.refresh_ttl,
            )
        )

    async def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        prefix, suffix = first_path(conditions, "prefix"), first_path(conditions, "suffix")
        rest = [each for each in conditions if each not in (prefix, suffix)]
        wanted = {"prefix": prefix.path if prefix else (), "suffix": suffix.path if suffix else ()}
        depth = 0 if rest else op.max_depth or 0
        found: dict[tuple[str, ...], None] = {}
        token, more = "", True
        while more and len(found) < op.offset + op.limit:
            page = await self._namespace_page(wanted, depth, token)
            for namespace in (tuple(each.labels) for each in page.namespaces):
                if namespace and all(namespace_matches(namespace, each) for each in rest):
                    found[namespace[: op.max_depth]] = None
            token = page.next_page_token
            more = bool(token)
        return list(found)[op.offset : op.offset + op.limit]

    async def _namespace_page(
        self, wanted: Mapping[str, Sequence[str]], depth: int, token: str
    ) -> ListMemoryNamespacesResponse:
        return await self._calls(
            lambda client: self._of(client).namespaces_page(
                prefix=wanted["prefix"], suffix=wanted["suffix"], max_depth=depth, page_token=token
            )
        )

    def _of(self, client: AsyncClient) -> AsyncUserMemory:
        return client.memory(user_id=self._user_id, app=self._app)


def _name(namespace: Iterable[str], key: str) -> _Name:
    return tuple(namespace), key

"""A handle for one session: the calls of the client on that session."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar, Unpack, cast

from .._arguments import NamesArguments
from .._convert import SessionLike
from .._search import SearchOptions
from ..filters import FilterLike
from ..memory import MemoryProvider
from ..v1.compaction_service_pb2 import PolicyScope
from ..v1.event_service_pb2 import AppendStreamResult
from ..v1.search_service_pb2 import SearchEventsResponse
from ..v1.session_pb2 import SessionRef
from ..v1.state_pb2 import StateScope
from ..v1.tool_service_pb2 import CallToolResponse
from ..values.incoming import Appendable
from ..values.pages import SearchHit
from .calls import AsyncCalls
from .events import batches_of, dropped
from .policies import AsyncPolicyHandle
from .states import AsyncStateHandle

P = ParamSpec("P")
R = TypeVar("R")
_NOT_OF_SPEC = {"as_of_seq", "as_of_log_version", "timeout"}
_Method = Callable[Concatenate[AsyncCalls, SessionLike, P], R]


def _of_session(method: _Method[P, R]) -> Callable[Concatenate[AsyncSessionHandle, P], R]:
    """The method of the client, with the session of the handle."""

    provided = {"append": "memory", "get_context": "spec"}.get(method.__name__)

    @functools.wraps(method)
    def call(self: AsyncSessionHandle, *args: P.args, **kwargs: P.kwargs) -> R:
        if provided is not None and self.memory is not None and not _has_own(method.__name__, args, kwargs):
            kwargs[provided] = self.memory
        return method(self.client, self.ref, *args, **kwargs)

    signature = inspect.signature(method)
    parameters = [each for name, each in signature.parameters.items() if name not in ("session", "session_id")]
    call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return cast("Callable[Concatenate[AsyncSessionHandle, P], R]", call)


def _has_own(method: str, args: Sequence[object], kwargs: Mapping[str, object]) -> bool:
    """Whether the arguments have a provider, or say what to read; the events of an append are positional."""
    return "memory" in kwargs if method == "append" else bool(args or kwargs.keys() - _NOT_OF_SPEC)


class AsyncSessionHandle(NamesArguments):
    """One session. The methods are those of the client, without the session argument. Made by the client's `session`."""

    def __init__(self, client: AsyncCalls, ref: SessionRef, memory: MemoryProvider | None = None) -> None:
        self.client = client
        self.ref = ref
        self.memory = memory
        """The provider of `with_memory`; None: reads and writes without one."""

    @property
    def id(self) -> str:
        """The session id."""
        return self.ref.session_id

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r}, app={self.ref.app!r}, user_id={self.ref.user_id!r})"

    create = _of_session(AsyncCalls.create_session)
    get = _of_session(AsyncCalls.get_session)
    load = _of_session(AsyncCalls.load_session)
    update = _of_session(AsyncCalls.update_session)
    delete = _of_session(AsyncCalls.delete_session)
    fork = _of_session(AsyncCalls.fork)
    move = _of_session(AsyncCalls.move_session)
    append = _of_session(AsyncCalls.append)
    get_event = _of_session(AsyncCalls.get_event)
    events_page = _of_session(AsyncCalls.events_page)
    events = _of_session(AsyncCalls.events)
    branches_page = _of_session(AsyncCalls.branches_page)
    branches = _of_session(AsyncCalls.branches)
    usage_page = _of_session(AsyncCalls.usage_page)
    usage = _of_session(AsyncCalls.usage)
    get_context = _of_session(AsyncCalls.get_context)
    pop = _of_session(AsyncCalls.pop)
    clear = _of_session(AsyncCalls.clear)
    rewind = _of_session(AsyncCalls.rewind)
    erase_events = _of_session(AsyncCalls.erase_events)
    replace_suffix = _of_session(AsyncCalls.replace_suffix)
    compact = _of_session(AsyncCalls.compact)
    compact_with = _of_session(AsyncCalls.compact_with)
    plan_compaction = _of_session(AsyncCalls.plan_compaction)
    apply_compaction = _of_session(AsyncCalls.apply_compaction)
    replace_events = _of_session(AsyncCalls.replace_events)
    compactions_page = _of_session(AsyncCalls.compactions_page)
    compactions = _of_session(AsyncCalls.compactions)
    watch = _of_session(AsyncCalls.watch)

    def with_memory(self, memory: MemoryProvider) -> AsyncSessionHandle:
        """A handle on the same session that reads and writes as the provider says: `get_context` without arguments returns its
        context, and if it does not write, `append` sends nothing and returns an empty response."""
        return AsyncSessionHandle(self.client, self.ref, memory)

    def append_stream(
        self,
        batches: AsyncIterable[Iterable[Appendable]] | Iterable[Iterable[Appendable]],
        *,
        max_outstanding: int = 64,
        timeout: float | None = None,
    ) -> AsyncIterator[AppendStreamResult]:
        """Append batch after batch, each the events of one append, without waiting; see the client's `append_stream`. If the
        provider of `with_memory` does not write, nothing is sent, and the results are empty."""
        if self.memory is not None and not self.memory.writes:
            return dropped(batches)
        return self.client.append_stream(batches_of(self.ref, batches), max_outstanding=max_outstanding, timeout=timeout)

    def state(self) -> AsyncStateHandle:
        """The state of this session."""
        return AsyncStateHandle(self.client, StateScope.STATE_SCOPE_SESSION, self.ref)

    def policy(self) -> AsyncPolicyHandle:
        """The policy by which the server compacts this session."""
        return AsyncPolicyHandle(self.client, PolicyScope(session=self.ref))

    def search(
        self,
        query: str,
        *,
        filter: FilterLike | None = None,  # noqa: A002
        page_size: int = 0,
        timeout: float | None = None,
        **options: Unpack[SearchOptions],
    ) -> AsyncIterator[SearchHit]:
        """All hits in this session; see the client's `search`."""
        return self.client.search(query, session=self.ref, filter=filter, page_size=page_size, timeout=timeout, **options)

    async def search_page(
        self,
        query: str,
        *,
        filter: FilterLike | None = None,  # noqa: A002
        page_size: int = 0,
        page_token: str = "",
        timeout: float | None = None,
        **options: Unpack[SearchOptions],
    ) -> SearchEventsResponse:
        """One page of `search`; see the client's `search_page`."""
        return await self.client.search_page(
            query,
            session=self.ref,
            filter=filter,
            page_size=page_size,
            page_token=page_token,
            timeout=timeout,
            **options,
        )

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any] | str | None = None, *, timeout: float | None = None
    ) -> CallToolResponse:
        """Run a recall tool for this session; see the client's `call_tool`."""
        return await self.client.call_tool(name, arguments, session=self.ref, timeout=timeout)

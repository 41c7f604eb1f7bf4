"""The calls that read several parts of a session at once; see `client`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

from .._convert import SessionLike, encodable, enum_value, several, sort_order
from ..filters import FilterLike, filter_of
from ..memory import MemoryProvider, context_spec
from ..v1 import event_service_pb2 as es
from ..v1.context_pb2 import ContextSpec
from ..v1.state_pb2 import StateScope
from ..values.loaded import LoadedSession
from .connection import AsyncConnection
from .pages import paged


class AsyncSessionReads(AsyncConnection):
    """The calls that read several parts of a session at once."""

    async def load_session(
        self,
        session: SessionLike,
        filter: FilterLike | None = None,  # noqa: A002
        *,
        order: es.SortOrder.ValueType | str = es.SORT_ORDER_UNSPECIFIED,
        page_size: int = 0,
        context: ContextSpec | MemoryProvider | bool = False,
        exclude_events: bool = False,
        state_scopes: Iterable[str] = (),
        with_newest_event: bool = False,
        timeout: float | None = None,
    ) -> LoadedSession:
        """Return a session, its state, and a page of its events, all as of one moment.

        `filter`, `order` and `page_size` select events as in `events_page`. `context`: in place of events, the context that
        `get_context` returns for this spec, or for none with True. `exclude_events`: neither. `state_scopes`: of "session",
        "user" and "app"; by default all that the credential has access to. `with_newest_event`: the last event of the log too.
        Raises SessionNotFound, AmbiguousSession, PermissionDenied.
        """
        request = es.LoadSessionRequest(
            session=self._ref(session),
            filter=filter_of(filter),
            order=sort_order(order),
            page_size=page_size,
            spec=_spec(context),
            exclude_events=exclude_events,
            state_scopes=[_scope(each) for each in several(state_scopes, "state_scopes")],
            with_newest_event=with_newest_event,
        )
        return LoadedSession(await self._call((await self._stubs()).events.LoadSession, request, timeout))

    async def branches_page(
        self, session: SessionLike, *, page_size: int = 0, page_token: str = "", timeout: float | None = None
    ) -> es.ListBranchesResponse:
        """Return one page of the branches that have events: the root first, the others by name.

        `page_size`: 0 is 100, the most. Events of a branch are counted up to 10,000. Raises SessionNotFound, InvalidPageToken.
        """
        request = es.ListBranchesRequest(session=self._ref(session), page_size=page_size, page_token=page_token)
        return await self._call((await self._stubs()).events.ListBranches, request, timeout)

    def branches(self, session: SessionLike, *, page_size: int = 0, timeout: float | None = None) -> AsyncIterator[es.Branch]:
        """Iterate over all branches that `branches_page` finds."""
        return paged(
            lambda token: self.branches_page(session, page_size=page_size, page_token=token, timeout=timeout),
            lambda page: page.branches,
        )

    async def usage_page(
        self,
        session: SessionLike,
        *,
        branch: str | None = None,
        after_seq: int | None = None,
        before_seq: int | None = None,
        page_size: int = 0,
        page_token: str = "",
        timeout: float | None = None,
    ) -> es.ListUsageResponse:
        """Return the token usage of one page of events, by turn, invocation and branch.

        `branch`: only events of exactly this branch; "" is the root. `after_seq`, `before_seq`: exclusive. `page_size`: events
        that a page reads, by default the server's limit (1,000). Raises SessionNotFound, InvalidPageToken.
        """
        request = es.ListUsageRequest(
            session=self._ref(session),
            branch=None if branch is None else encodable(branch, "branch"),
            after_seq=after_seq,
            before_seq=before_seq,
            page_size=page_size,
            page_token=page_token,
        )
        return await self._call((await self._stubs()).events.ListUsage, request, timeout)

    def usage(
        self,
        session: SessionLike,
        *,
        branch: str | None = None,
        after_seq: int | None = None,
        before_seq: int | None = None,
        page_size: int = 0,
        timeout: float | None = None,
    ) -> AsyncIterator[es.UsageEntry]:
        """Iterate over all entries that `usage_page` finds. A turn that is in two pages has an entry of each."""
        return paged(
            lambda token: self.usage_page(
                session,
                branch=branch,
                after_seq=after_seq,
                before_seq=before_seq,
                page_size=page_size,
                page_token=token,
                timeout=timeout,
            ),
            lambda page: page.entries,
        )


def _spec(context: ContextSpec | MemoryProvider | bool) -> ContextSpec | None:
    if isinstance(context, bool):
        return ContextSpec() if context else None
    return context_spec(context, {})


def _scope(scope: str) -> StateScope.ValueType:
    value: StateScope.ValueType = enum_value(dict(StateScope.items()), "STATE_SCOPE_", scope, "state_scopes")
    return value

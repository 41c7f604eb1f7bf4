"""Use cases of subscriptions: scopes, start positions and quotas."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from ...domain.errors import InvalidResumeToken, QuotaExceeded, ResumePositionExpired, ThreadkeepError
from ...domain.feed import BEGINNING, Bookmark, FeedScope, FeedTrimmed, Position
from ...domain.filters import EventFilter
from ...domain.model import Caller, SessionRef
from ...feed.encoder import ChangeEncoder
from ...feed.live.subscription import Subscription
from ...feed.live.tail import Tail
from ...store.contract.feed import FeedStore
from ...store.contract.sessions import SessionStore
from ..access import own_app, own_ref, own_user

_LOOK_S: Final = 0.02
_LOOKS: Final = 25
_MOST_WAITING: Final = 100
"""Further calls do not wait for a use that ends."""


@dataclass(frozen=True, slots=True)
class Start:
    """The start of a subscription; at most one field is set. Without one it starts with the next commit."""

    resume_token: str = ""
    after_seq: int | None = None
    from_beginning: bool = False


class Dialect(Protocol):
    """Encodes messages and tokens of one request. Tokens are bound to the scope and the filter of the request."""

    def encoder(self, scope: FeedScope) -> ChangeEncoder: ...

    def token(self, scope: FeedScope, position: Position) -> str: ...

    def read_token(self, scope: FeedScope, token: str) -> Bookmark:
        """Raises InvalidResumeToken."""
        ...


class Quota:
    """Limits a number of concurrent uses: of all callers, and of one. `refuse` makes the error of a name and a limit."""

    def __init__(
        self,
        name: str,
        *,
        most: int,
        most_per_caller: int,
        refuse: Callable[[str, int], ThreadkeepError] = QuotaExceeded,
    ) -> None:
        self._name = name
        self._refuse = refuse
        self._most = most
        self._most_per_caller = most_per_caller
        self._held: Counter[Caller] = Counter()
        self._total = 0
        self._waiting = 0

    def held_by(self, caller: Caller) -> int:
        """Returns the number of uses of a caller."""
        return self._held.get(caller, 0)

    @contextmanager
    def one(self, caller: Caller) -> Iterator[None]:
        """Counts one use while the context is open. Raises the error of `refuse`, by default QuotaExceeded."""
        if self._held[caller] >= self._most_per_caller:
            raise self._refuse(f"{self._name}_per_caller", self._most_per_caller)
        if self._total >= self._most:
            raise self._refuse(self._name, self._most)
        self._held[caller] += 1
        self._total += 1
        try:
            yield
        finally:
            self._total -= 1
            self._held[caller] -= 1
            if not self._held[caller]:
                del self._held[caller]

    @asynccontextmanager
    async def soon(self, caller: Caller) -> AsyncIterator[None]:
        """Like `one`, but waits a moment for a use that ends: a client that leaves and returns at once comes before the server
        notices that it left."""
        for _ in range(_LOOKS if self._waiting < _MOST_WAITING else 0):
            if self._held[caller] < self._most_per_caller and self._total < self._most:
                break
            self._waiting += 1
            try:
                await asyncio.sleep(_LOOK_S)
            finally:
                self._waiting -= 1
        with self.one(caller):
            yield


class SubscriptionStore(SessionStore, FeedStore, Protocol):
    """The part of the store that subscriptions use."""


class SubscriptionService:
    """Use cases of subscriptions. Both streams are endless; the first read raises errors of the request."""

    def __init__(self, store: SubscriptionStore, tail: Tail, quota: Quota) -> None:
        self._store = store
        self._tail = tail
        self._quota = quota

    def watch_session(
        self, caller: Caller, ref: SessionRef, wanted: EventFilter, start: Start, dialect: Dialect
    ) -> AsyncIterator[bytes]:
        """Streams the changes of a session. A session identified by its id only must exist."""

        async def scope() -> FeedScope:
            own = own_ref(caller, ref)
            if own.is_bare:
                own = (await self._store.get_session(caller.tenant, own)).ref
            return FeedScope(caller.tenant, *own)

        return self._watch(caller, scope, wanted, start, dialect)

    def watch_all(
        self,
        caller: Caller,
        app: str | None,
        user_id: str | None,
        labels: Mapping[str, str],
        wanted: EventFilter,
        start: Start,
        dialect: Dialect,
    ) -> AsyncIterator[bytes]:
        """Streams the changes of all sessions of a user, an app or the tenant."""

        async def scope() -> FeedScope:
            user = own_user(caller, user_id, "scope.user_id")
            own = own_app(caller, app, "scope.app")
            return FeedScope(caller.tenant, own, user, labels=tuple(sorted(labels.items())))

        return self._watch(caller, scope, wanted, start, dialect)

    async def _watch(
        self,
        caller: Caller,
        find_scope: Callable[[], Awaitable[FeedScope]],
        wanted: EventFilter,
        start: Start,
        dialect: Dialect,
    ) -> AsyncIterator[bytes]:
        async with self._quota.soon(caller):
            incarnations = self._tail.incarnations
            scope = await find_scope()
            try:
                position, skip_seq, _ = await self._beginning(scope, start, dialect)
                # Equal requests, and only those, have the same token for the beginning.
                key = dialect.token(scope, BEGINNING)
                channel = await self._tail.attach(key, scope, wanted, dialect.encoder(scope))
                subscription = Subscription(self._store, self._tail, channel, position, skip_seq, incarnations)
                try:
                    while True:
                        for message in await subscription.next():
                            yield message
                finally:
                    subscription.close()
                    self._tail.detach(channel)
            except FeedTrimmed as trimmed:
                oldest = {"oldest_resume_token": dialect.token(scope, trimmed.floor)}
                if trimmed.oldest_seq is not None:
                    oldest["oldest_seq"] = str(trimmed.oldest_seq)
                raise ResumePositionExpired(**oldest) from None

    async def _beginning(self, scope: FeedScope, start: Start, dialect: Dialect) -> Bookmark:
        if start.resume_token:
            bookmark = dialect.read_token(scope, start.resume_token)
            state = await self._store.feed_state()
            place = bookmark.position
            held = self._store.incarnations().hold(bookmark.incarnation, place)
            # Positions before the floor have expired in every incarnation.
            if (place > state.head and not state.unsettled) or (place >= state.floor and not held):
                raise InvalidResumeToken(
                    "is of changes that the store may have lost when it was restored; read the sessions, then start a new one"
                )
            return bookmark
        if start.after_seq is not None and scope.ref is not None:
            return Bookmark(await self._store.locate(scope.tenant, scope.ref, start.after_seq), start.after_seq)
        return Bookmark(await (self._store.feed_floor() if start.from_beginning else self._store.feed_head()))

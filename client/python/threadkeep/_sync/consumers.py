# Generated from _async by `make sync-client`. Do not edit.
"""Named consumers: working for one, and managing them; see `client`."""
# ruff: noqa: SLF001 - a part of the client

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any

from .._arguments import NamesArguments
from .._convert import check
from .._streams.deliveries import Delivery
from .._streams.worker_threads import Worker
from ..filters import FilterLike, filter_of
from ..v1 import consumer_service_pb2 as ns
from ..v1.consumer_pb2 import Consumer, ParkedChange
from .connection import Connection
from .pages import paged


class ConsumerHandle(NamesArguments):
    """A named consumer, whose progress the server stores. Made by the client's `consumer`; makes no call."""

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection = connection
        self.name = check(name, str, "name")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def run(
        self,
        handler: Callable[[Delivery], object],
        *,
        user_id: str | None = None,
        app: str | None = None,
        any_user: bool = False,
        any_app: bool = False,
        labels: Mapping[str, str] | None = None,
        filter: FilterLike | None = None,  # noqa: A002
        from_beginning: bool = False,
        member_id: str = "",
        concurrency: int = 8,
        max_outstanding: int = 0,
        max_attempts: int = 0,
        ack_timeout: timedelta | None = None,
        partitions: int = 0,
        stop: threading.Event | None = None,
    ) -> None:
        """Work for the consumer: call `handler` with every change, at least once, and acknowledge it when it returns.

        The first member creates the consumer; members of one name share the sessions. The changes of a session are delivered in
        order, one at a time; `concurrency` handlers run at once, for different sessions. When `handler` raises, its change is
        delivered again after a pause, with the changes after it, and parked when it has failed `max_attempts` times;
        `raise Park("why")` parks it at once.

        It runs until `stop` is set: then it starts no more handlers, waits for the running ones, and up to 10 seconds until the
        server confirms their acknowledgments. A canceled task cancels its handlers; their changes are delivered again. The
        synchronous client runs handlers in threads, which always finish; it ends by `stop` or when it is closed.

        When the stream breaks, or the member was too slow, it joins again, after pauses as in `watch` and without limit.
        Running handlers continue, and their sessions wait for them; their changes are delivered again.

        The scope and the filter are those of `watch`, the same for all members. `from_beginning`: a new consumer starts at the
        beginning of the feed, by default with changes committed from now on. `member_id`: shown to operators, by default the
        server's. `max_outstanding`: unacknowledged deliveries (0 is 256, at most 10,000). The first member sets `max_attempts`
        (0 is 5, at most 1,000), `ack_timeout` (60 s; 1 s to 1 day) and `partitions` (running handlers; 0 is 32, at most 256).

        Raises ConsumerMismatch, ConsumerNotFound when it is deleted, ResumePositionExpired as in `watch`, and QuotaExceeded.
        """
        if check(concurrency, int, "concurrency") < 1:
            raise ValueError("concurrency must be at least 1")
        join = ns.JoinConsumer(
            name=self.name,
            scope=self._connection._scope(user_id, app, labels, any_user, any_app),
            filter=filter_of(filter),
            from_beginning=from_beginning,
            member_id=member_id,
            max_outstanding=max_outstanding,
            max_attempts=max_attempts,
            partitions=partitions,
        )
        if ack_timeout is not None:
            join.ack_timeout.FromTimedelta(check(ack_timeout, timedelta, "ack_timeout"))

        def open_stream(requests: Iterator[ns.ConsumeRequest]) -> Any:
            stubs, metadata = self._connection._stubs(), self._connection._credential.metadata()
            return stubs.consumers.Consume(requests, metadata=metadata)

        Worker(open_stream, handler, concurrency, stop, self._connection.address).run(join)

    def get(self, *, timeout: float | None = None) -> ns.GetConsumerResponse:
        """Return the consumer, its members, partitions and the number of parked changes. Raises ConsumerNotFound."""
        request = ns.GetConsumerRequest(name=self.name)
        return self._connection._call(self._connection._stubs().consumers.GetConsumer, request, timeout)

    def delete(self, *, timeout: float | None = None) -> ns.DeleteConsumerResponse:
        """Delete the consumer, its checkpoints and its parked changes; its members end. `deleted` is false if it did not
        exist."""
        request = ns.DeleteConsumerRequest(name=self.name)
        return self._connection._call(self._connection._stubs().consumers.DeleteConsumer, request, timeout)

    def parked_page(
        self, *, page_size: int = 0, page_token: str = "", timeout: float | None = None
    ) -> ns.ListParkedChangesResponse:
        """Return one page of the parked changes, oldest first; `page_size` 0 is 100, at most 1,000.

        Raises ConsumerNotFound, InvalidPageToken.
        """
        request = ns.ListParkedChangesRequest(name=self.name, page_size=page_size, page_token=page_token)
        return self._connection._call(self._connection._stubs().consumers.ListParkedChanges, request, timeout)

    def parked(self, *, page_size: int = 0, timeout: float | None = None) -> Iterator[ParkedChange]:
        """Iterate over all parked changes, oldest first. Raises ConsumerNotFound."""
        return paged(
            lambda token: self.parked_page(page_size=page_size, page_token=token, timeout=timeout),
            lambda page: page.parked_changes,
        )

    def replay_parked(self, parked_ids: Iterable[str] | None = None, *, timeout: float | None = None) -> int:
        """Deliver parked changes again, by default all, outside the order of their sessions; at most 1,000 ids.

        Returns their number; ids that are not parked do not count. An empty list replays none. Raises ConsumerNotFound.
        """
        ids = _some(parked_ids)
        if ids is None:
            return 0
        request = ns.ReplayParkedChangesRequest(name=self.name, parked_ids=ids)
        stubs = self._connection._stubs()
        return self._connection._call(stubs.consumers.ReplayParkedChanges, request, timeout).replayed

    def delete_parked(self, parked_ids: Iterable[str] | None = None, *, timeout: float | None = None) -> int:
        """Delete parked changes, by default all; at most 1,000 ids. Returns their number.

        An empty list deletes none. Raises ConsumerNotFound.
        """
        ids = _some(parked_ids)
        if ids is None:
            return 0
        request = ns.DeleteParkedChangesRequest(name=self.name, parked_ids=ids)
        stubs = self._connection._stubs()
        return self._connection._call(stubs.consumers.DeleteParkedChanges, request, timeout).deleted


class Consumers(Connection):
    """The calls on named consumers."""

    def consumer(self, name: str) -> ConsumerHandle:
        """A handle for the named consumer, which need not exist. Makes no call."""
        return ConsumerHandle(self, name)

    def consumers_page(
        self, *, page_size: int = 0, page_token: str = "", timeout: float | None = None
    ) -> ns.ListConsumersResponse:
        """Return one page of consumers, by name; `page_size` 0 is 100, at most 1,000. Raises InvalidPageToken."""
        request = ns.ListConsumersRequest(page_size=page_size, page_token=page_token)
        return self._call(self._stubs().consumers.ListConsumers, request, timeout)

    def consumers(self, *, page_size: int = 0, timeout: float | None = None) -> Iterator[Consumer]:
        """Iterate over all consumers, by name."""
        return paged(
            lambda token: self.consumers_page(page_size=page_size, page_token=token, timeout=timeout),
            lambda page: page.consumers,
        )


def _some(ids: Iterable[str] | None) -> list[str] | None:
    """The ids to send; an empty list means all. None for an empty argument, which must not become all."""
    if ids is None:
        return []
    if isinstance(ids, str):
        raise TypeError("parked_ids must be several ids, not str")
    return list(ids) or None

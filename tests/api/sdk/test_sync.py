"""Tests of only the synchronous client: one client, many threads."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor

import threadkeep


def test_threads_share_a_client(address: str) -> None:
    with threadkeep.Client(address, user_id="alice") as client, ThreadPoolExecutor(8) as threads:
        session = client.create_session()
        list(threads.map(lambda n: client.append(session, threadkeep.user(str(n))), range(40)))
        events = list(client.events(session))
    assert [event.seq for event in events] == list(range(1, 41))
    assert sorted(int(threadkeep.text_of(event)) for event in events) == list(range(40))


def test_a_stream_is_consumed_lazily(address: str) -> None:
    with threadkeep.Client(address, user_id="alice") as client:
        session = client.create_session()
        results = client.append_stream(((session, [threadkeep.user(str(n))]) for n in range(1_000_000)), max_outstanding=2)
        assert [next(results).index for _ in range(10)] == list(range(10))
        assert isinstance(results, Generator)
        results.close()
        assert 10 <= client.get_session(session).last_seq <= 20

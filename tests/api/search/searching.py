"""Servers with an embedder, and a conversation to search."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from threadkeep import Client, assistant, media, system, text_of, tool_call, tool_result, user
from threadkeep_server.app.server import Running

from ..bad_input.requests import eventually
from ..conftest import running

ENGINES = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]
MONDAY = datetime(2026, 6, 1, 9, tzinfo=UTC)
_numbers = count(1)


@contextmanager
def serving(engine: str, request: pytest.FixtureRequest, data_dir: Path, **settings: Any) -> Iterator[Running]:
    """A server on SQLite, or on a new PostgreSQL database."""
    if engine == "sqlite":
        with running(data_dir=data_dir, **settings) as server:
            yield server
        return
    cluster = request.getfixturevalue("postgres")
    name = f"recalling_{os.getpid()}_{next(_numbers)}"
    with running(data_dir=data_dir, database_url=cluster.create_database(name), **settings) as server:
        yield server
    cluster.drop_database(name)


def connected(server: Running, **fields: Any) -> Client:
    return Client(f"127.0.0.1:{server.grpc_port}", **({"app": "shop", "user_id": "alice"} | fields))


def add_conversation(client: Client) -> None:
    """Two sessions of alice and one of bob, on three days."""
    said = ["There is one at five past two."]
    tuesday, friday = MONDAY + timedelta(days=1), MONDAY + timedelta(days=4)
    client.append(
        "trip",
        system("You are a travel agent.", event_time=MONDAY),
        user("I am planning a holiday in Lisbon.", author="alice", event_time=MONDAY),
        assistant("Which month suits you?", author="agent", event_time=MONDAY),
        user("In May, and I'd rather fly than take trains.", author="alice", event_time=tuesday),
        assistant(tool_call("c1", "flights", {"from": "Berlin", "to": "Lisbon"}), event_time=tuesday),
        tool_result("c1", "EW8600 leaves at 14:05", name="flights", event_time=tuesday),
        assistant([*said, media("image/png", uri="x:y", name="boardingpass.png")], event_time=tuesday),
        create_if_missing=True,
    )
    client.append(
        "food",
        user("My daughter Zoë is allergic to peanuts.", author="alice", event_time=friday),
        assistant("I will remember the allergy.", author="agent", event_time=friday),
        user("京都に行きたい", author="alice", event_time=friday),
        assistant("The user wants to see Kyoto.", synthetic=True, event_time=friday),
        create_if_missing=True,
    )


def embedded(client: Client) -> None:
    """Waits until nothing is waiting for an embedding; only indexed events are counted."""

    def done() -> bool:
        info = client.info()
        return info.search_index.lag_batches == info.embeddings.waiting == 0

    eventually(done)


def texts(hits: Any) -> list[str]:
    return [text_of(hit.event) for hit in hits]


def marked(hit: Any) -> list[str]:
    """Returns the highlighted parts of a hit's text."""
    return [text_of(hit.event)[each.start : each.end] for each in hit.highlights]

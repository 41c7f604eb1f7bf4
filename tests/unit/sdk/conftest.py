from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from .fake import FakeServer
from .flavors import FLAVORS, make


@pytest.fixture
def fake() -> Iterator[FakeServer]:
    server = FakeServer()
    yield server
    server.stop()


@pytest.fixture(params=FLAVORS)
def flavor(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def connect(fake: FakeServer, flavor: str) -> AsyncIterator[Callable[..., Any]]:
    """Makes clients of the fake server, closed when the test ends."""
    async with AsyncExitStack() as stack:
        clients: list[Any] = []

        def connect(address: str | None = None, **kwargs: Any) -> Any:
            clients.append(make(flavor, address or fake.address, **kwargs))
            return clients[-1]

        yield connect
        for client in clients:
            await stack.enter_async_context(client)


@pytest.fixture
def client(connect: Callable[..., Any]) -> Any:
    return connect(user_id="alice", app="shop")

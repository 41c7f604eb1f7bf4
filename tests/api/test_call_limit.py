"""A server with as many calls in flight as it allows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing
from http.client import HTTPConnection
from typing import Any

import pytest

from threadkeep import AsyncClient, errors, user

from .conftest import ServerFactory

MOST = 2
INFO = "/threadkeep.v1.ServerService/GetServerInfo"


def _post(port: int) -> tuple[int, dict[str, Any]]:
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("POST", INFO, "{}", {"content-type": "application/json"})
        response = connection.getresponse()
        return response.status, json.load(response)
    finally:
        connection.close()


async def test_further_calls_are_refused_with_the_limit_and_subscriptions_are_not(start_server: ServerFactory) -> None:
    server = start_server(max_calls=MOST)
    assert server.http_port is not None
    async with AsyncClient(f"127.0.0.1:{server.grpc_port}", user_id="u") as client, AsyncExitStack() as streams:
        await client.append("s", user("hi"), create_if_missing=True)

        async def batches(number: int) -> AsyncIterator[tuple[str, list[Any]]]:
            yield "s", [user(f"from stream {number}")]
            await asyncio.Event().wait()

        for number in range(MOST):
            results: Any = client.append_stream(batches(number))
            await streams.enter_async_context(aclosing(results))
            await anext(results)
        with pytest.raises(errors.RateLimited) as refused:
            await client.info()
        assert (refused.value.limit, refused.value.retry_after) == ("calls_in_flight", 1.0)
        status, answer = await asyncio.to_thread(_post, server.http_port)
        assert (status, answer["code"]) == (429, "resource_exhausted")
        assert answer["details"][0]["debug"]["metadata"] == {"limit": "calls_in_flight"}
        async with aclosing(client.watch("s", after_seq=0)) as changes:
            await anext(changes)
        await streams.aclose()
        async with asyncio.timeout(30):
            while (await asyncio.to_thread(_post, server.http_port))[0] != 200:  # noqa: ASYNC110 - the server reports no end
                await asyncio.sleep(0.02)
        assert (await client.info()).version

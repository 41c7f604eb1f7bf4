"""Large requests are decoded off the event loop, one at a time, and few bytes wait for it."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from threadkeep_server.domain.errors import RateLimited
from threadkeep_server.transport.decoding import Decoder

SMALL, LARGE = b"x" * 1000, b"x" * (300 << 10)


class Parsing:
    """A method whose requests are parsed once they may be."""

    def __init__(self) -> None:
        self.threads: list[str] = []
        self.go = threading.Event()
        self.at_once = self.most_at_once = 0
        self.method: Any = SimpleNamespace(parse=self._parse, parse_json=self._parse)

    def _parse(self, raw: bytes) -> int:
        self.threads.append(threading.current_thread().name)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        if len(raw) > len(SMALL):
            assert self.go.wait(10)
        self.at_once -= 1
        return len(raw)


async def test_a_large_request_is_decoded_while_a_small_one_is_served() -> None:
    parsing, decoder = Parsing(), Decoder()
    large = [asyncio.create_task(decode(parsing.method, LARGE)) for decode in (decoder.proto, decoder.json)]
    await asyncio.sleep(0)
    assert [await decode(parsing.method, SMALL) for decode in (decoder.proto, decoder.json)] == [1000, 1000]
    assert not any(each.done() for each in large)
    parsing.go.set()
    assert await asyncio.gather(*large) == [len(LARGE)] * 2
    assert parsing.most_at_once == 2  # one in the thread, and one on the event loop
    assert sum(name.startswith("decoder") for name in parsing.threads) == 2


async def test_requests_that_are_too_large_together_are_refused_and_one_alone_is_not() -> None:
    parsing, decoder = Parsing(), Decoder(most_waiting=2 * len(LARGE) - 1)
    first = asyncio.create_task(decoder.proto(parsing.method, LARGE * 3))
    await asyncio.sleep(0)
    with pytest.raises(RateLimited) as refused:
        await decoder.proto(parsing.method, LARGE)
    assert refused.value.metadata == {"limit": "large_requests"}
    parsing.go.set()
    assert await first == 3 * len(LARGE)
    assert await decoder.proto(parsing.method, LARGE) == len(LARGE)

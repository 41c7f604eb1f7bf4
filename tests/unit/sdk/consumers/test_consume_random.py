"""Consuming from a server that breaks streams and delivers again at random."""

from __future__ import annotations

import asyncio
import queue
import random
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import count, pairwise
from typing import Any

import grpc
import pytest

from threadkeep._streams import backoff
from threadkeep.v1 import consumer_service_pb2 as ns
from threadkeep.v1 import subscription_pb2 as su
from threadkeep.v1.consumer_pb2 import Consumer

from ..fake import FakeServer
from .consuming import GONE, Consuming

PARTITIONS, CHANGES, AHEAD = 6, 80, 12
STREAM_SECONDS = (0.02, 0.1)


class Server:
    """Keeps the place of each partition, and insists that acknowledgements and rejections come in its order."""

    def __init__(self, seed: int) -> None:
        self.places = [0] * PARTITIONS
        self.streams = 0
        self.complaints: list[str] = []
        self._attempts = [1] * PARTITIONS
        self._random = random.Random(seed)

    @property
    def done(self) -> bool:
        return self.places == [CHANGES] * PARTITIONS

    def serve(self, requests: Iterator[ns.ConsumeRequest], context: grpc.ServicerContext) -> Iterator[ns.ConsumeResponse]:
        self.streams += 1
        said: queue.Queue[ns.ConsumeRequest | None] = queue.Queue()
        threading.Thread(target=_listen, args=(requests, said), daemon=True).start()
        yield ns.ConsumeResponse(joined=ns.Joined(consumer=Consumer(max_attempts=1000)))
        until = time.monotonic() + self._random.uniform(*STREAM_SECONDS)
        ids, sent, following = count(1), {}, list(self.places)
        heard = False  # each stream settles something: on a slow machine nothing else would ever be done
        while context.is_active() and (time.monotonic() < until or not heard or self.done):
            deliveries = []
            for partition, place in enumerate(self.places):
                for n in range(following[partition], min(CHANGES, place + AHEAD)):
                    attempt = self._attempts[partition] if n == place else 1
                    number = next(ids)
                    sent[number] = (partition, n)
                    versions = su.SessionVersions(log_version=n, window_version=partition)
                    change = su.Change(versions=versions)
                    deliveries.append(ns.Delivery(delivery_id=number, partition=partition, attempt=attempt, change=change))
                following[partition] = max(following[partition], min(CHANGES, place + AHEAD))
            if deliveries:
                yield ns.ConsumeResponse(deliveries=deliveries)
            try:
                request = said.get(timeout=0.01)
            except queue.Empty:
                continue
            if request is None:
                return
            heard = heard or not request.HasField("join")
            self._note(request, sent, following)
        GONE.abort(context)

    def _note(self, request: ns.ConsumeRequest, sent: dict[int, tuple[int, int]], following: list[int]) -> None:
        for number in request.acknowledge.delivery_ids:
            self._in_order(sent[number])
            self.places[sent[number][0]] += 1
            self._attempts[sent[number][0]] = 1
        if request.HasField("reject"):
            partition, n = sent[request.reject.delivery_id]
            self._in_order((partition, n))
            self._attempts[partition] += 1
            following[partition] = n

    def _in_order(self, what: tuple[int, int]) -> None:
        if self.places[what[0]] != what[1]:
            self.complaints.append(f"{what} out of order, the partition is at {self.places[what[0]]}")


def _listen(requests: Iterator[ns.ConsumeRequest], said: queue.Queue[ns.ConsumeRequest | None]) -> None:
    try:
        for request in requests:
            said.put(request)
    except grpc.RpcError:
        return
    said.put(None)


@pytest.mark.parametrize("seed", range(3))
async def test_every_change_is_handled_and_no_partition_leaves_its_order(
    client: Any, fake: FakeServer, flavor: str, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    server, luck, lock = Server(seed), random.Random(seed), threading.Lock()
    seen: dict[int, list[int]] = defaultdict(list)
    busy: set[int] = set()
    mixed: list[int] = []

    def handle(change: su.Change) -> None:
        partition = change.versions.window_version
        with lock:
            if partition in busy:
                mixed.append(partition)
            busy.add(partition)
            seen[partition].append(change.versions.log_version)
        time.sleep(luck.random() * 0.003)
        with lock:
            busy.discard(partition)
        if luck.random() < 0.05:
            raise ValueError("bad luck")

    monkeypatch.setattr(backoff, "FIRST", 0.005)
    monkeypatch.setattr(backoff, "LONGEST", 0.05)
    fake.answers["Consume"] = [server.serve] * 100_000
    consuming = Consuming(client, flavor, handle, concurrency=3)
    async with asyncio.timeout(300):
        while not server.done:
            assert not consuming.task.done()
            await asyncio.sleep(0.02)
    await consuming.end()
    assert (server.complaints, mixed) == ([], [])
    assert server.streams > 2
    for handled in seen.values():
        assert set(handled) == set(range(CHANGES))
        assert all(after <= before + 1 for before, after in pairwise(handled)), "it may step back, and never skips"

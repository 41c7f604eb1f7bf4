"""Questions of rare and of common words, and the same events in a bare FTS5 table."""

import functools
import itertools
import random
import re
import time
from collections import Counter
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from tests.bench import loads, payloads
from tests.recall_bench.plain import PlainFts5
from threadkeep.v1 import event_service_pb2, search_pb2, search_service_pb2

KINDS = {"rare words": (4, 0), "common words": (0, 4), "rare and common words": (2, 5)}
"""How many rare and how many common words a question of each kind has."""

QUESTIONS = 8  # of each kind, in turn; few, because one of them takes the bare table seconds for a million texts
_COMMON, _RARE = 40, 3000  # the most frequent words, and as many of the least frequent
Job = dict[str, Any]


@functools.cache
def questions(kind: str) -> tuple[str, ...]:
    """Different words in each; the same in every run."""
    source = random.Random(kind)
    sample = payloads.words(random.Random(11), 1_000_000).lower()
    ordered = [word for word, _ in Counter(re.findall(r"\w+", sample)).most_common()]
    rare, common = KINDS[kind]
    texts = []
    for _ in range(QUESTIONS):
        words = source.sample(ordered[-_RARE:], rare) + source.sample(ordered[:_COMMON], common)
        source.shuffle(words)
        texts.append(" ".join(words))
    return tuple(texts)


async def ranked(call: loads.Unary, job: Job) -> dict[str, Any]:
    """Ranked searches of a user's events, the questions of one kind in turn; each must find something."""
    requests = [_request(job["user"], text, job["hits"]) for text in questions(job["kind"])]
    for request in requests:
        if not await loads.count_hits(call, request):
            raise ValueError("a question found nothing")
    turn = itertools.cycle(requests)
    return await loads.closed_loop(call, job, lambda: next(turn))


def _request(user: str, text: str, hits: int) -> bytes:
    scope = search_service_pb2.UserScope(app=payloads.APP, user_id=user)
    request = search_service_pb2.SearchEventsRequest(
        user=scope,
        query=text,
        page_size=hits,
        mode=search_pb2.SEARCH_MODE_RANKED,
        reference_time=Timestamp(seconds=1_700_000_000),
    )
    return request.SerializeToString()


def make_fts5(job: Job) -> None:
    """A bare table with the texts of the events that `load` stored for the same sessions."""
    with PlainFts5(job["path"]) as table:
        for name, user, first, count in job["sessions"]:
            requests = payloads.load(name, user, first, count, job["per_user"], size=job["size"], batch=500, plant=False)
            for request in requests:
                events = event_service_pb2.AppendEventsRequest.FromString(request).events
                table.add(event.message.parts[0].text for event in events)
        table.finish()
        for text in (text for kind in KINDS for text in questions(kind)):
            if not table.search(text, 1):
                raise ValueError(f"{text!r} finds nothing")


def bare_ranked(table: PlainFts5, job: Job) -> dict[str, Any]:
    """The same questions of the bare table, one after the other, each as often as the others."""
    texts = questions(job["kind"])
    table.search(texts[-1], job["hits"])
    turn = itertools.cycle(texts)
    begin = before = time.perf_counter()
    times: list[float] = []
    while before - begin < job["seconds"] or len(times) % QUESTIONS:
        table.search(next(turn), job["hits"])
        after = time.perf_counter()
        times.append(after - before)
        before = after
    return loads.summary(times, before - begin, 1, 0)

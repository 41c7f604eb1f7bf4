"""One session grows to a million tokens (a quarter in the short form) of real conversation with a policy.

Its window stays under 100,000 tokens, contexts are complete turns within their budget, the log keeps every byte, and every
sentence is found.
"""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import count

import pytest

import threadkeep
from tests.faults.conftest import ServerMaker
from tests.faults.harness.ledger import connect
from tests.faults.harness.policy import set_policy, summarizer
from tests.faults.harness.wire import Wire, wire
from tests.support.conversations import agent_runs, as_sent, dialogues, orphans, renamed
from tests.support.marks import is_summary
from tests.support.models.model_endpoint import ModelEndpoint, endpoint, replies
from tests.support.runs.printed import Say
from tests.support.runs.thoroughness import LONG, with_long
from tests.support.servers.server_process import url_settings
from threadkeep.v1 import compaction_pb2 as pb
from threadkeep.v1.event_pb2 import SessionEvent
from threadkeep.v1.event_service_pb2 import GetContextResponse
from threadkeep.v1.message_pb2 import ROLE_SYSTEM, ROLE_USER
from threadkeep.v1.session_pb2 import Session
from threadkeep_server.domain.text import estimate_tokens
from threadkeep_server.transport.wire.prompt_text import measure

TOKENS = 1_000_000 if LONG else 250_000
THRESHOLD, LIMIT = 60_000, 100_000
CONTEXT_TOKENS = 20_000
SESSION = "growing"
SENTENCES = 200 if LONG else 50

ROOM_WITHIN_S = 60
BUDGET = pb.CompactionStrategy(token_budget=pb.TokenBudget(max_tokens=40_000))
TRIM = pb.CompactionStrategy(trim_tool_results=pb.TrimToolResults(keep_turns=2))
SUMMARIZE = pb.CompactionStrategy(recursive_summary=pb.RecursiveSummary(max_events_to_keep=200))
STRATEGIES = {
    "trim and summary": pb.CompactionStrategy(pipeline=pb.StrategyPipeline(steps=[TRIM, SUMMARIZE])),
    "token budget": BUDGET,
}
# The short form tries each engine and each strategy once; the long form tries every pair.
CASES = with_long(
    [("sqlite", "token budget"), ("postgresql", "trim and summary")],
    ("sqlite", "trim and summary"),
    ("postgresql", "token budget"),
)


@dataclass
class Growth:
    """The sent events, and the largest window after an append."""

    sent: list[SessionEvent] = field(default_factory=list)
    largest: int = 0


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("database_url", "strategy"), CASES, indirect=["database_url"])
async def test_a_window_stays_small_while_the_log_grows(
    make_server: ServerMaker, database_url: str | None, strategy: str, say: Say
) -> None:
    started = time.monotonic()
    policy = pb.CompactionPolicy(trigger=pb.CompactionTrigger(tokens=THRESHOLD), strategy=STRATEGIES[strategy])
    growth = Growth()
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(endpoint("openai"))
        summarize_with(model)
        settings = {} if strategy == "token budget" else {**summarizer(model), "summarizer_deadline": "20s"}
        server = await asyncio.to_thread(make_server(**url_settings(database_url), **settings).start)
        client = await stack.enter_async_context(connect(server.address, timeout=30))
        to = await stack.enter_async_context(wire(server.address, seconds=30))
        await client.create_session(SESSION, never_expires=True)
        await set_policy(to, SESSION, policy)
        await grow(client, to, growth)
        session, log, records = await read_at_once(to)
        check_log(growth.sent, log)
        await check_search(client, growth.sent)
    archived = sum(event.archived for event in log)
    assert archived == sum(record.archived_events for record in records)
    assert archived + session.window.events == len(log)
    assert len(records) >= (TOKENS - LIMIT) // LIMIT, "it was compacted again and again"
    assert all(record.actor == "policy" for record in records)
    tokens = sum(event.token_estimate for event in log if not event.synthetic)
    assert tokens >= TOKENS
    engine = "sqlite" if database_url is None else "postgresql"
    say(
        f"{engine}, {strategy}: {len(log)} events, {tokens} tokens, {len(records)} compactions, "
        f"largest window {growth.largest} tokens, {time.monotonic() - started:.1f} s"
    )


async def read_at_once(to: Wire) -> tuple[Session, list[SessionEvent], list[pb.Compaction]]:
    """Reads again if a compaction came between: the policy may still be at work."""
    while True:
        session, log, records = await to.session(SESSION), await to.log(SESSION), await to.records(SESSION)
        if (await to.session(SESSION)).window_version == session.window_version:
            return session, log, records


def summarize_with(model: ModelEndpoint) -> None:
    """A model that returns the number of lines in its prompt."""

    def behave(writer: asyncio.StreamWriter) -> object:
        prompt = model.requests[-1].json["messages"][-1]["content"]
        return replies(model.answer(f"Customers were served; {len(prompt.splitlines())} lines in all."))(writer)

    model.does(behave)  # type: ignore[arg-type]


def conversations() -> Iterator[list[SessionEvent]]:
    """Repeats all conversations."""
    for number in count():
        for place, conversation in enumerate([*agent_runs(), *dialogues()]):
            yield renamed(conversation, f"{number}-{place}")


async def grow(client: threadkeep.AsyncClient, to: Wire, growth: Growth) -> None:
    """Appends conversation by conversation; after each, the window is small or one compaction makes it small."""
    said = 0
    for conversation in conversations():
        answer = await client.append(SESSION, *conversation)
        growth.sent += conversation
        said += sum(estimate_tokens(len(measure(event.message).prompt_text)) for event in conversation)
        growth.largest = max(growth.largest, answer.window.tokens)
        if answer.window.tokens > LIMIT:
            await until_small(to)
        check_context(await to.context(SESSION, max_tokens=CONTEXT_TOKENS))
        if said >= TOKENS:
            return


async def until_small(to: Wire) -> None:
    async with asyncio.timeout(ROOM_WITHIN_S):
        while (await to.session(SESSION)).window.tokens > LIMIT:  # noqa: ASYNC110 - it is the server that changes it
            await asyncio.sleep(0.01)


def check_context(read: GetContextResponse) -> None:
    """Checks complete turns within the budget."""
    assert read.context.tokens == sum(event.token_estimate for event in read.events)
    assert read.over_budget == (read.context.tokens > CONTEXT_TOKENS)
    talk = [event for event in read.events if not is_summary(event) and event.message.role != ROLE_SYSTEM]
    turns = sum(event.message.role == ROLE_USER for event in talk)
    assert not read.over_budget or turns == 1, "only a single newest turn may exceed the budget"
    assert not read.truncated or talk[0].message.role == ROLE_USER, "it begins with a turn"
    assert not orphans(read.events)


def check_log(sent: Sequence[SessionEvent], log: Sequence[SessionEvent]) -> None:
    """Checks that every event is stored as sent, in order."""
    assert sorted(event.seq for event in log) == list(range(1, len(log) + 1))
    said = [event for event in log if not event.synthetic]
    assert [as_sent(event) for event in said] == [as_sent(event) for event in sent]
    assert [event.seq for event in said] == sorted(event.seq for event in said)


async def check_search(client: threadkeep.AsyncClient, sent: Sequence[SessionEvent]) -> None:
    """Checks that sentences of any time are found."""
    with_text = [event for event in sent if threadkeep.text_of(event) and event.message.role != ROLE_SYSTEM]
    for event in random.sample(with_text, SENTENCES):
        sentence = random.choice([each for each in re.split(r"(?<=[.!?])\s+", threadkeep.text_of(event)) if each.strip()])[
            :1000
        ]
        hits = client.search(sentence, session=SESSION, mode="substring", page_size=1000)
        found = {hit.event.event_id async for hit in hits}
        assert event.event_id in found, sentence

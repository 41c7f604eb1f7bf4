"""Summaries by a real endpoint that misbehaves: the errors of the client and the state of the session."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.models.model_endpoint import TEXT, Behaviour, ModelEndpoint, breaks_off, endpoint, hangs, never_ends, replies
from threadkeep import assistant, text_of, user
from threadkeep.v1 import session_pb2

from ..bad_input.requests import Wire, eventually, wire

KEY = "sk-secret-0123456789"
SUMMARIZING = {"recursive_summary": {"max_events_to_keep": 2, "overlap": 0}}
PRIVATE = "the safe opens with 4711"


@pytest.fixture
def model() -> Iterator[ModelEndpoint]:
    """An endpoint in its own thread and event loop."""
    ready: list[ModelEndpoint] = []
    started, stop = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with endpoint("openai") as running:
            ready.append(running)
            started.set()
            await stop.wait()

    def work() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(serve())

    thread = threading.Thread(target=work, name="model")
    thread.start()
    assert started.wait(60)
    yield ready[0]
    loop.call_soon_threadsafe(stop.set)
    thread.join(60)


def settings(model: ModelEndpoint, **changes: Any) -> dict[str, Any]:
    return {
        "summarizer": "openai",
        "summarizer_model": "small",
        "summarizer_base_url": model.url,
        "summarizer_api_key": KEY,
        "summarizer_attempts": 1,
    } | changes


@pytest.fixture
def opened(request: pytest.FixtureRequest, model: ModelEndpoint, tmp_path: Path) -> Iterator[Wire]:
    never_done = "trouble" in request.fixturenames and request.getfixturevalue("trouble") in {"slow", "dripping"}
    # Other answers have the default of 60 s: the first call, and all on a busy machine, may take seconds.
    timeouts = {"summarizer_timeout": "8s", "summarizer_deadline": "16s"} if never_done else {}
    with wire(tmp_path, **settings(model, **timeouts)) as each:
        yield each


def conversation(wire: Wire) -> session_pb2.SessionRef:
    ref = wire.new_session()
    wire.append(ref, user(PRIVATE, event_id="U1"), assistant("noted", event_id="A1"), user("u2"), assistant("a2"))
    return ref


def held(released: threading.Event, then: Behaviour) -> Behaviour:
    """Responds when the test has released it."""

    async def behave(writer: asyncio.StreamWriter) -> None:
        while not released.is_set():  # noqa: ASYNC110 - an event of threads
            await asyncio.sleep(0.01)
        await then(writer)

    return behave


def test_a_summary_is_stored_and_its_usage_counted(opened: Wire, model: ModelEndpoint) -> None:
    ref = conversation(opened)
    done = opened.call("CompactSession", session=ref, strategy=SUMMARIZING)
    assert done.compacted
    assert [text_of(event) for event in opened.call("GetContext", session=ref).events][1] == TEXT
    [requested] = model.requests
    assert PRIVATE in requested.json["messages"][1]["content"]
    assert requested.headers["authorization"] == f"Bearer {KEY}"
    usage = opened.call("GetSession", session=ref).session.usage
    assert usage == done.compaction.usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (50, 12, 62)
    assert opened.call("GetServerInfo").summarizer_model == "small"


def _answer(model: ModelEndpoint, text: object, **changes: Any) -> Behaviour:
    return replies(model.answer(text, **changes))


TROUBLE = {
    "slow": (lambda _: hangs, "timed out"),
    "dripping": (lambda _: never_ends(b" ", every=0.05), "timed out"),
    "endless": (lambda _: never_ends(), "too long"),
    "error": (lambda _: replies({"error": KEY}, status=500), "answered with an error (500)"),
    "refused": (lambda _: replies({"error": {"message": f"bad key {KEY}"}}, status=401), "refused (401)"),
    "busy": (lambda _: replies({}, status=429), "refused (429)"),
    "blank": (lambda model: _answer(model, " \n "), "gave an empty answer"),
    "null": (lambda model: _answer(model, None), "gave an empty answer"),
    "huge": (lambda model: _answer(model, "x" * 1_000_000), "too long"),
    "longer than requested": (lambda model: _answer(model, "word " * 2000), "the limit is 1024"),
    "cut off": (lambda model: _answer(model, TEXT, ending="length"), "was cut off at 1024 tokens"),
    "declined": (lambda model: _answer(model, TEXT, ending="content_filter"), "declined to answer"),
    "breaking off": (lambda model: breaks_off(model.answer()), "broke off its answer"),
    "no JSON": (lambda _: replies("<html>"), "cannot be read"),
    "other JSON": (lambda _: replies({"choices": []}), "cannot be read"),
    "redirect": (lambda _: replies({}, status=302, headers={"location": "http://127.0.0.1:1/"}), "refused (302)"),
}


@pytest.mark.parametrize("trouble", TROUBLE)
def test_a_failing_model_leaves_the_session_unchanged(
    opened: Wire, model: ModelEndpoint, trouble: str, caplog: pytest.LogCaptureFixture
) -> None:
    behave, problem = TROUBLE[trouble]
    model.does(behave(model))
    ref = conversation(opened)
    with caplog.at_level(logging.DEBUG), opened.unchanged(ref):
        refusal = opened.refused("CompactSession", session=ref, strategy=SUMMARIZING)
    assert (refusal.code.name, refusal.reason) == ("UNAVAILABLE", "SUMMARIZER_FAILED")
    assert problem in refusal.metadata["problem"]
    assert not opened.call("ListCompactions", session=ref).compactions
    outcome = "\n".join([refusal.message, *refusal.metadata.values()])
    logged = "\n".join(record.getMessage() for record in caplog.records)
    for secret in (KEY, str(model.port), PRIVATE):
        assert secret not in outcome
        assert secret not in logged
    model.does(_answer(model, TEXT))
    assert opened.call("CompactSession", session=ref, strategy=SUMMARIZING).compacted


def test_an_unreachable_model_leaves_the_session_unchanged(tmp_path: Path, model: ModelEndpoint) -> None:
    with wire(tmp_path, **settings(model, summarizer_base_url="http://127.0.0.1:1/v1")) as opened:
        ref = conversation(opened)
        with opened.unchanged(ref):
            refusal = opened.refused("CompactSession", session=ref, strategy=SUMMARIZING)
    assert refusal.metadata == {"problem": "could not be reached"}


def test_a_prompt_that_is_too_long_is_not_sent(tmp_path: Path, model: ModelEndpoint) -> None:
    with wire(tmp_path, **settings(model, summarizer_max_input_tokens=100)) as opened:
        ref = opened.new_session()
        opened.append(ref, user("word " * 1000), assistant("a1"), user("u2"), assistant("a2"))
        with opened.unchanged(ref):
            refusal = opened.refused("CompactSession", session=ref, strategy=SUMMARIZING)
        assert "the limit is 100" in refusal.metadata["problem"]
        assert model.requests == []


def test_appends_continue_during_a_summary(tmp_path: Path, model: ModelEndpoint) -> None:
    """Appends 64 events at once, repeatedly; the compaction succeeds at the first attempt and loses none."""
    released = threading.Event()
    model.does(held(released, replies(model.answer())))
    with wire(tmp_path, **settings(model)) as opened, ThreadPoolExecutor(65) as pool:
        ref = conversation(opened)
        compacting = pool.submit(opened.call, "CompactSession", session=ref, strategy=SUMMARIZING)
        eventually(lambda: len(model.requests) == 1)
        appended = 0
        while appended < 128:
            for answer in pool.map(lambda n: opened.append(ref, user(f"more {n}")), range(64)):
                assert len(answer.events) == 1
            appended += 64
        assert not compacting.done(), "appends wait for no model"
        released.set()
        done = compacting.result()
        assert (done.compacted, done.lost_races) == (True, 0)
        assert len(model.requests) == 1
        assert done.compaction.archived_events == 2
        window = opened.call("GetSession", session=ref).session.window
        assert (window.events, window.turns) == (2 + 2 + appended, 1 + appended)
        assert opened.call("GetSession", session=ref).session.last_seq == 4 + 2 + appended


def test_a_lost_race_requests_a_summary_once(tmp_path: Path, model: ModelEndpoint) -> None:
    released = threading.Event()
    model.does(held(released, replies(model.answer())))
    with wire(tmp_path, **settings(model)) as opened, ThreadPoolExecutor(1) as pool:
        ref = opened.new_session()
        opened.append(ref, user("u1"), assistant("a1"), user("u2"), assistant("a2", event_id="A2"))
        compacting = pool.submit(opened.call, "CompactSession", session=ref, strategy=SUMMARIZING)
        eventually(lambda: len(model.requests) == 1)
        assert opened.call("ApplyCompaction", session=ref, event_ids={"ids": ["A2"]}).applied
        released.set()
        done = compacting.result()
        assert (done.compacted, done.lost_races, len(model.requests)) == (True, 1, 1)
        assert opened.call("GetSession", session=ref).session.usage.total_tokens == 62


def test_a_policy_retries_after_a_failed_summary(tmp_path: Path, model: ModelEndpoint) -> None:
    model.does(replies({}, status=500), replies(model.answer()))
    with wire(tmp_path, **settings(model)) as opened:
        policy = {"trigger": {"events": 4}, "strategy": SUMMARIZING}
        opened.call("SetCompactionPolicy", scope={"server": True}, policy=policy)
        ref = conversation(opened)
        eventually(lambda: len(opened.call("ListCompactions", session=ref).compactions) == 1)
        assert len(model.requests) == 2


def test_a_server_that_stops_does_not_wait_for_a_model(tmp_path: Path, model: ModelEndpoint) -> None:
    model.does(hangs)
    policy = {"trigger": {"events": 4}, "strategy": SUMMARIZING}
    with wire(tmp_path, **settings(model)) as opened:
        opened.call("SetCompactionPolicy", scope={"server": True}, policy=policy)
        ref = conversation(opened)
        eventually(lambda: len(model.requests) == 1)
        stopping = time.monotonic()
    assert time.monotonic() - stopping < 30, "less than the timeout of the model, 60 s"
    model.does(replies(model.answer()))
    with wire(tmp_path, **settings(model)) as opened:
        opened.append(ref, user("u3"))
        # Sooner than a lease of the stopped server would end, after 60 s.
        eventually(lambda: len(opened.call("ListCompactions", session=ref).compactions) == 1, seconds=30)

"""What one language writes every language reads, whole; agents in two languages take turns while a third follows, and race."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import AsyncExitStack
from itertools import count, product
from typing import Any

import pytest

from tests.support.runs.thoroughness import LONG, with_long
from tests.support.runs.toolchains import LANGUAGES
from threadkeep.v1.event_pb2 import SessionEvent
from threadkeep.v1.event_removal_pb2 import PopEventsRequest
from threadkeep.v1.event_service_pb2 import ReplaceSuffixRequest
from threadkeep.v1.message_pb2 import ROLE_ASSISTANT, ChatMessage, Part
from threadkeep.v1.session_pb2 import SessionRef
from threadkeep.v1.session_service_pb2 import CreateSessionRequest, GetSessionRequest
from threadkeep.v1.state_pb2 import StatePatch
from threadkeep.v1.state_service_pb2 import GetStateRequest, PatchStateRequest

from . import whole_log
from .conftest import DriverOf, EngineOf
from .drivers import BUILD_WITHIN, CHOSEN
from .engine import ENGINES, Engine
from .speaker import Refused, Speaker, first

pytestmark = [pytest.mark.timeout(2 * BUILD_WITHIN), pytest.mark.asyncio(loop_scope="session")]
TURNS = 24
RACES = 64
RETRY_WITHIN = 90.0
_sessions = count(1)
_written: dict[tuple[str, str], SessionRef] = {}
"""The session that each language wrote the whole log into, by engine and language."""
Chaos = Callable[[Engine, list[str]], Coroutine[Any, Any, None]]


def _fresh(name: str) -> SessionRef:
    return SessionRef(app="round-trips", user_id="ada", session_id=f"{name} {next(_sessions)} \u00e9\U0001f600")


def _pairs() -> Iterator[tuple[str, str, str]]:
    """Yields every pair on SQLite; on PostgreSQL each language writes for one and reads from one, in the long form for all."""
    for engine, writer, reader in product(ENGINES, CHOSEN, CHOSEN):
        after = (CHOSEN.index(writer) + 1) % len(CHOSEN)
        if LONG or engine == "sqlite" or reader == CHOSEN[after]:
            yield engine, writer, reader


async def _session_of(writer: Speaker, engine: str, ref: SessionRef) -> None:
    """Has this language make the session and write the whole log into it, in two appends."""
    created = CreateSessionRequest(session=ref, context_bytes=whole_log.NOT_A_DOUBLE, metadata_json=whole_log.METADATA)
    await writer.call("SessionService/CreateSession", created)
    events = whole_log.log()
    await writer.append(events[:3])
    await writer.append(events[3:])
    _written[engine, writer.language] = ref


@pytest.mark.parametrize(("engine", "writer", "reader"), [*_pairs()])
async def test_a_log_written_in_one_language_is_read_in_another(
    engine: str, writer: str, reader: str, engine_of: EngineOf, driver_of: DriverOf
) -> None:
    drivers, address = {language: driver_of(language) for language in (writer, reader)}, (await engine_of(engine)).address
    if (engine, writer) not in _written:
        ref = _fresh(f"written by {writer}")
        async with Speaker(drivers[writer], address, ref) as speaker:
            await _session_of(speaker, engine, ref)
    ref, events = _written[engine, writer], whole_log.log()
    async with Speaker(drivers[reader], address, ref) as speaker:
        session = (await speaker.call("SessionService/GetSession", GetSessionRequest(session=ref))).session
        assert (session.context_bytes, session.metadata_json) == (whole_log.NOT_A_DOUBLE, whole_log.METADATA)
        listed = await speaker.log()
        assert [event.seq for event in listed] == list(range(1, len(events) + 1))
        _same(listed, events)
        _same(await first(speaker, len(events)), events)
        window = sorted((await speaker.context()).events, key=lambda event: event.seq)  # of which summaries come first
        _same(window, events)


def _same(found: Iterable[SessionEvent], events: Iterable[SessionEvent]) -> None:
    """The events are equal in everything that their writer said, and so are their bytes and their JSON texts."""
    for event, wanted in zip(found, events, strict=True):
        assert whole_log.stripped(event) == wanted
        assert event.native.content == wanted.native.content
        assert event.metadata_json == wanted.metadata_json
        assert event.HasField("event_time") == wanted.HasField("event_time")
        assert event.HasField("usage") == wanted.HasField("usage")


async def _cut(engine: Engine, said: list[str]) -> None:
    for turn in (5, 11, 17):
        await _reached(said, turn)
        engine.cut()


async def _kill(engine: Engine, said: list[str]) -> None:
    await _reached(said, TURNS // 2)
    await engine.restart("kill")


async def _reached(said: list[str], turns: int) -> None:
    while len(said) < turns:  # noqa: ASYNC110 - the agents know nothing of what is done to them
        await asyncio.sleep(0.005)


@pytest.mark.parametrize("place", range(len(LANGUAGES)), ids=lambda place: LANGUAGES[place])
@pytest.mark.parametrize(
    ("engine", "chaos"),
    with_long([("sqlite", _cut), ("postgresql", _kill)], ("sqlite", _kill), ("postgresql", _cut)),
    ids=lambda value: getattr(value, "__name__", value).strip("_"),
)
async def test_agents_take_turns_while_another_follows(
    engine: str, chaos: Chaos, place: int, engine_of: EngineOf, driver_of: DriverOf
) -> None:
    """Over all places each language is the first agent, the second, and the one that follows."""
    languages = [LANGUAGES[(place + n) % len(LANGUAGES)] for n in range(3)]
    if not set(languages) <= set(CHOSEN):
        pytest.skip(f"THREADKEEP_LANGUAGES names only some of {', '.join(languages)}")
    drivers = [driver_of(language) for language in languages]
    around, ref, said = await engine_of(engine), _fresh("turns"), list[str]()
    async with AsyncExitStack() as stack:
        speakers = [Speaker(driver, around.gateway_address, ref) for driver in drivers]
        one, other, follower = [await stack.enter_async_context(speaker) for speaker in speakers]
        async with asyncio.TaskGroup() as tasks:
            followed = tasks.create_task(first(follower, TURNS))
            tasks.create_task(_agent(one, 0, said))
            tasks.create_task(_agent(other, 1, said))
            tasks.create_task(chaos(around, said))
        log = await follower.log()
    assert [event.event_id for event in log] == [f"turn-{n}" for n in range(TURNS)]
    assert [event.author for event in log] == [one.language, other.language] * (TURNS // 2)
    assert [event.seq for event in log] == list(range(1, TURNS + 1))
    assert followed.result() == log
    assert said == [event.event_id for event in log]


async def _agent(speaker: Speaker, place: int, said: list[str]) -> None:
    """Says every second turn: waits until the other has said the one before it, then appends to exactly that."""
    heard = speaker.watched()
    last = ""
    try:
        for turn in range(place, TURNS, 2):
            while last != (f"turn-{turn - 1}" if turn else ""):
                last = (await anext(heard)).event_id
            text = Part(text=f"{speaker.language} says turn {turn}")
            message = ChatMessage(role=ROLE_ASSISTANT, parts=[text])
            event = SessionEvent(event_id=f"turn-{turn}", message=message, author=speaker.language)
            said.append(event.event_id)
            await _say(speaker, event, last)
    finally:
        await heard.aclose()  # type: ignore[attr-defined]


async def _say(speaker: Speaker, event: SessionEvent, after: str) -> None:
    """Appends, again and again while there is no server: the event's id makes sure that it is said once."""
    async with asyncio.timeout(RETRY_WITHIN):
        while True:
            try:
                await speaker.append([event], after=after)
            except Refused as error:
                if error.code != "UNAVAILABLE":
                    raise
                await asyncio.sleep(0.02)
            else:
                return


@pytest.mark.parametrize("languages", with_long([("python", "go")], ("typescript", "java"), ("rust", "go")), ids="-".join)
@pytest.mark.parametrize("engine", ENGINES)
async def test_two_languages_race_on_pop_suffix_and_state_and_agree(
    engine: str, languages: tuple[str, str], engine_of: EngineOf, driver_of: DriverOf
) -> None:
    """Each event is popped once, and no replacement and no patch is lost, whichever language wins."""
    if not set(languages) <= set(CHOSEN):
        pytest.skip(f"THREADKEEP_LANGUAGES names only some of {', '.join(languages)}")
    ref, address = _fresh("raced"), (await engine_of(engine)).address
    drivers = [driver_of(language) for language in languages]
    async with Speaker(drivers[0], address, ref) as one, Speaker(drivers[1], address, ref) as other:
        ids = [f"e{n}" for n in range(RACES)]
        await one.append([_event("first"), *(_event(event_id) for event_id in ids)])
        pop = PopEventsRequest(session=ref)
        racing = (speaker.method("EventService/PopEvents", pop) for speaker in (one, other) * (RACES // 2))
        taken = [event.event_id for popped in await asyncio.gather(*racing) for event in popped.events]
        assert sorted(taken) == sorted(ids)
        await asyncio.gather(*(_replaces(speaker, ref, RACES // 2) for speaker in (one, other)))
        await asyncio.gather(*(_counts(speaker, ref, RACES // 2) for speaker in (one, other)))
        session = (await one.call("SessionService/GetSession", GetSessionRequest(session=ref))).session
        # one append, a change for each pop and each replacement: patches of state are no versions of the log
        assert (session.log_version, session.last_seq, session.window.events) == (1 + 2 * RACES, 1 + 2 * RACES, 1)
        for speaker in (one, other):
            state = (await speaker.method("StateService/GetState", GetStateRequest(session=ref))).state
            assert (dict(state.values), state.version) == ({"count": str(RACES)}, RACES)
        written = [event.author for event in await other.log() if event.author]
        assert sorted(written) == sorted([one.language, other.language] * (RACES // 2))


def _event(event_id: str, author: str = "") -> SessionEvent:
    return SessionEvent(event_id=event_id, author=author, message=ChatMessage(role=ROLE_ASSISTANT, parts=[Part(text=event_id)]))


async def _replaces(speaker: Speaker, ref: SessionRef, times: int) -> None:
    """Replaces the last event so many times; a refusal names the one that is the last now."""
    last = "first"
    for n in range(times):
        mine = _event(f"{speaker.language}-{n}", speaker.language)
        while last != mine.event_id:
            request = ReplaceSuffixRequest(session=ref, expected_event_ids=[last], events=[mine])
            try:
                await speaker.method("EventService/ReplaceSuffix", request)
            except Refused as error:
                if error.code != "ABORTED":
                    raise
                last = error.metadata["actual"]
            else:
                last = mine.event_id


async def _counts(speaker: Speaker, ref: SessionRef, times: int) -> None:
    """Adds one to a value so many times: reads it, and writes it if its version is still the same."""
    done = 0
    while done < times:
        state = (await speaker.method("StateService/GetState", GetStateRequest(session=ref))).state
        patch = StatePatch(set={"count": str(int(state.values["count"] or 0) + 1)})
        try:
            request = PatchStateRequest(session=ref, patch=patch, expected_version=state.version)
            await speaker.method("StateService/PatchState", request)
        except Refused as error:
            if error.code != "ABORTED":
                raise
        else:
            done += 1

"""conversation_search and cross_session_search of `SearchTools`, against real servers."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import threadkeep
from threadkeep.chat import Tool, ToolCall, ToolContext, ToolOutput, assistant

from ..async_and_sync import Kit, Way, text_of
from ..conversations import Talk, prompt_of

NOTHING = "No results found."
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def way(request: pytest.FixtureRequest, kit: Kit) -> Way:
    """Tools run the same way for call and stream, so most tests use only call."""
    return Way(kit, streams=getattr(request, "param", "call") == "stream")


@pytest.fixture
def word(talk: Talk) -> str:
    """A word unique to the test, because all tests share the user."""
    return "w" + talk.session.removeprefix("s-")


async def raw(talk: Talk, tool: Tool, arguments: dict[str, Any], **values: Any) -> str:
    answer = await talk.kit.of(tool.run, json.dumps({"innerThought": "hm", **arguments}), ToolContext(values))
    assert not isinstance(answer, ToolOutput), answer
    return str(answer)


async def here(talk: Talk, query: str, *, size: int = 10, **arguments: Any) -> Any:
    tool = talk.kit.SearchTools(talk.sdk, page_size=size).conversation_search()
    return _read(await raw(talk, tool, {"query": query, **arguments}, session=talk.session))


async def everywhere(talk: Talk, query: str, *, user_id: str | None = None, **arguments: Any) -> Any:
    tool = talk.kit.SearchTools(talk.sdk).cross_session_search(user_id)
    return _read(await raw(talk, tool, {"query": query, **arguments}))


def _read(answer: str) -> Any:
    return answer if answer == NOTHING else json.loads(answer)


def texts(rows: list[dict[str, str]]) -> list[str]:
    return [row["text"] for row in rows]


async def test_conversation_search_without_match_returns_no_results(talk: Talk) -> None:
    assert await here(talk, "tea") == NOTHING
    await talk.append(threadkeep.user("coffee"))
    assert await here(talk, "tea") == NOTHING


async def test_conversation_search_ignores_case_and_returns_rows(talk: Talk) -> None:
    said = [
        threadkeep.user("ÄPFEL are red", event_time=NOON),
        threadkeep.assistant("So are cherries."),
        threadkeep.user("äpfel!"),
    ]
    await talk.append(*said)
    rows = await here(talk, "äPfel")
    assert rows[0] == {"timestamp": "2026-03-01T12:00:00Z", "type": "user", "text": "ÄPFEL are red"}
    assert texts(rows) == ["ÄPFEL are red", "äpfel!"]
    assert [row["type"] for row in await here(talk, "cherries")] == ["assistant"]


async def test_search_rows_without_event_time_have_the_time_of_recording(talk: Talk, word: str) -> None:
    began = datetime.now(UTC) - timedelta(minutes=1)
    await talk.append(threadkeep.user(f"{word} tea"))
    for rows in (await here(talk, word), await everywhere(talk, word)):
        assert began < datetime.fromisoformat(rows[0]["timestamp"]) < datetime.now(UTC) + timedelta(minutes=1)


async def test_conversation_search_returns_pages_of_page_size(talk: Talk) -> None:
    await talk.append(*(threadkeep.user(f"tea {number}") for number in range(15)))
    pages = [await here(talk, "tea", page=page) for page in (0, 1)]
    assert [texts(page) for page in pages] == [[f"tea {n}" for n in range(10)], [f"tea {n}" for n in range(10, 15)]]
    assert await here(talk, "tea", page=2) == await here(talk, "tea", page=2**31 - 1) == NOTHING
    for page in (None, -1):
        assert await here(talk, "tea", page=page) == pages[0]
    assert texts(await here(talk, "tea", page=1, size=4)) == [f"tea {n}" for n in range(4, 8)]
    with pytest.raises(ValueError, match="page_size"):
        talk.kit.SearchTools(talk.sdk, page_size=0)


async def test_conversation_search_includes_summaries_but_not_tool_calls(talk: Talk) -> None:
    call = threadkeep.tool_call("c1", "tea", {"tea": "green"})
    await talk.append(
        threadkeep.user("hi"), threadkeep.assistant("a summary of tea", synthetic=True), threadkeep.assistant(call)
    )
    assert texts(await here(talk, "tea")) == ["a summary of tea"]


async def test_conversation_search_without_session_uses_default_or_raises_in_strict_mode(
    talk: Talk, word: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Without a session the tool searches the session "default"; strict mode rejects the call."""
    await talk.kit.of(talk.sdk.append, "default", threadkeep.user(f"{word} by default"), create_if_missing=True)
    search = talk.kit.SearchTools(talk.sdk).conversation_search()
    with caplog.at_level(logging.WARNING, "threadkeep.chat"):
        assert texts(json.loads(await raw(talk, search, {"query": word}, session=" "))) == [f"{word} by default"]
    assert "names no session" in caplog.text
    strict = talk.kit.SearchTools(talk.sdk, strict=True).conversation_search()
    with pytest.raises(ValueError, match="names no session"):
        await raw(talk, strict, {"query": word})


async def test_conversation_search_accepts_session_keys_of_the_published_model(talk: Talk) -> None:
    await talk.append(threadkeep.user("tea"))
    search = talk.kit.SearchTools(talk.sdk, strict=True).conversation_search()
    for key in ("chat_memory_session_id", "chat_memory_conversation_id"):
        assert texts(json.loads(await raw(talk, search, {"query": "tea"}, **{key: talk.session}))) == ["tea"]


async def test_cross_session_search_covers_all_sessions_of_one_user(talk: Talk, word: str) -> None:
    assert await everywhere(talk, word) == NOTHING
    bobs = threadkeep.SessionRef(app="shop", user_id="bob", session_id=talk.session)
    await talk.append(threadkeep.user(f"{word} one"), threadkeep.user("else"))
    for session, text in ((f"{talk.session}-2", "two"), (bobs, "bob")):
        await talk.kit.of(talk.sdk.append, session, threadkeep.user(f"{word} {text}"), create_if_missing=True)
    rows = await everywhere(talk, word)
    assert [(row["sessionId"], row["text"]) for row in rows] == [
        (talk.session, f"{word} one"),
        (f"{talk.session}-2", f"{word} two"),
    ]
    assert set(rows[0]) == {"sessionId", "timestamp", "type", "text"}
    assert texts(await everywhere(talk, word, user_id="bob")) == [f"{word} bob"]


async def test_cross_session_search_matches_any_or_all_texts(talk: Talk, word: str) -> None:
    await talk.append(*(threadkeep.user(f"{word} {text}") for text in ("tea", "cake", "tea and cake")))
    a, b = f"{word} tea", f"{word} cake"
    assert len(await everywhere(talk, f"{a}, {b}")) == len(await everywhere(talk, f"{a},{b}", matchMode="any")) == 3
    assert texts(await everywhere(talk, f"{word}, cake, tea", matchMode="ALL")) == [f"{word} tea and cake"]


async def test_cross_session_search_since_limits_by_event_time(talk: Talk, word: str) -> None:
    times = [NOON - timedelta(days=1), NOON, NOON + timedelta(days=1)]
    await talk.append(*(threadkeep.user(f"{word} {at:%d}", event_time=at) for at in times))
    for since in ("2026-03-01T12:00:00Z", "2026-03-01T13:00:00+01:00", "2026-03-01T12:00:00", "2026-03-01"):
        assert texts(await everywhere(talk, word, since=since)) == [f"{word} 01", f"{word} 02"]
    with pytest.raises(ValueError, match=r"ISO 8601.*'yesterday'"):
        await everywhere(talk, word, since="yesterday")


async def test_invalid_search_arguments_raise_value_error(talk: Talk, word: str) -> None:
    await talk.append(threadkeep.user(f"{word} t19"))
    for query in (",", " , ,"):
        with pytest.raises(ValueError, match="separated by commas"):
            await everywhere(talk, query)
    twenty = ", ".join(f"{word} t{number}" for number in range(20))
    assert len(await everywhere(talk, twenty)) == 1
    with pytest.raises(ValueError, match="at most 20 texts, not 21"):
        await everywhere(talk, f"{twenty}, more")
    with pytest.raises(ValueError, match="matchMode"):
        await everywhere(talk, word, matchMode="some")
    for blank in (everywhere(talk, "  "), here(talk, "")):
        with pytest.raises(ValueError, match="query must not be blank"):
            await blank


async def test_cross_session_search_sorts_rows_by_instant(talk: Talk, word: str) -> None:
    milli = timedelta(milliseconds=1)
    for number, at in enumerate((NOON + milli, NOON - milli, NOON)):
        event = threadkeep.user(f"{word} {number}", event_time=at)
        await talk.kit.of(talk.sdk.append, f"{talk.session}-{number}", event, create_if_missing=True)
    assert [row["timestamp"] for row in await everywhere(talk, word)] == [
        "2026-03-01T11:59:59.999Z",
        "2026-03-01T12:00:00Z",
        "2026-03-01T12:00:00.001Z",
    ]


async def test_cross_session_search_returns_pages_across_sessions(talk: Talk, word: str) -> None:
    for number in range(12):
        event = threadkeep.user(f"{word} {number}", event_time=NOON + timedelta(seconds=number))
        await talk.kit.of(talk.sdk.append, f"{talk.session}-{number % 2}", event, create_if_missing=True)
    assert texts(await everywhere(talk, word, page=1)) == [f"{word} 10", f"{word} 11"]


async def test_cross_session_search_with_blank_user_raises_value_error(talk: Talk) -> None:
    for user_id in ("", "  "):
        with pytest.raises(ValueError, match="user_id"):
            talk.kit.SearchTools(talk.sdk).cross_session_search(user_id)


@pytest.mark.parametrize("way", ["call", "stream"], indirect=True)
async def test_model_searches_its_conversation(talk: Talk) -> None:
    await talk.append(threadkeep.user("green tea"), threadkeep.assistant("Noted."))
    arguments = '{"innerThought": "they said it", "query": "TEA"}'
    replies = [assistant(tool_calls=[ToolCall("c1", "conversation_search", arguments)]), "green"]
    model = talk.kit.ScriptedModel(replies)
    client = talk.kit.ChatClient(model, advisors=[talk.memory()], tools=[talk.kit.SearchTools(talk.sdk).conversation_search()])
    answers = await talk.way.ask(client.prompt("What do I drink?").session(talk.session))
    assert text_of(answers) == "green"
    assert '"text": "green tea"' in prompt_of(model)[-1]

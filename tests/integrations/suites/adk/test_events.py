"""Events: they come back equal, and their typed parts are complete."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from google.adk.events import Event, EventActions
from google.adk.events.event_actions import EventCompaction
from google.adk.models.cache_metadata import CacheMetadata
from google.adk.sessions import Session
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.genai import types

from tests.integrations.suites.adk.support import USER, call, content, read, said
from threadkeep import AsyncClient, SessionRef
from threadkeep import Event as StoredEvent
from threadkeep.integrations.adk import ThreadkeepSessionService

Service = ThreadkeepSessionService
BYTES = bytes(range(256))


@pytest.fixture
async def session(service: Service, app: str) -> Session:
    """A session without events."""
    return await service.create_session(app_name=app, user_id=USER, session_id="s1")


@pytest.fixture
def ref(app: str) -> SessionRef:
    """The session's name in Threadkeep."""
    return SessionRef(app=app, user_id=USER, session_id="s1")


EVENTS = {
    "bytes in content": Event(
        author="user", content=types.Content(parts=[types.Part.from_bytes(data=BYTES, mime_type="image/png")])
    ),
    "bytes in grounding metadata": said(
        "x", grounding_metadata=types.GroundingMetadata(search_entry_point=types.SearchEntryPoint(sdk_blob=BYTES))
    ),
    "requested tool confirmations": Event(
        author="helper",
        actions=EventActions(requested_tool_confirmations={"c1": ToolConfirmation(hint="sure?", payload={"n": [1]})}),
    ),
    "transcriptions": Event(
        author="user",
        input_transcription=types.Transcription(text="heard", finished=True),
        output_transcription=types.Transcription(text="spoken", finished=False),
    ),
    "usage": said(
        "x",
        author="helper",
        usage_metadata=types.GenerateContentResponseUsageMetadata(
            prompt_token_count=7, candidates_token_count=5, thoughts_token_count=3, total_token_count=15
        ),
    ),
    "cache metadata": said("x", cache_metadata=CacheMetadata(fingerprint="f", contents_count=3)),
    "custom metadata": said("x", custom_metadata={"a": 1, "b": {"c": [None, True, 1.5, "é"]}}),
    "long-running ids": Event(
        author="helper", content=content(call("book", "c2"), call("book", "c1")), long_running_tool_ids={"c2", "c1"}
    ),
    "thoughts and signatures": Event(
        author="helper",
        content=content(
            types.Part(text="hm", thought=True, thought_signature=BYTES),
            types.Part(function_call=types.FunctionCall(id="c1", name="f", args={}), thought_signature=BYTES),
        ),
    ),
    "code": Event(
        author="helper",
        content=content(
            types.Part(executable_code=types.ExecutableCode(code="1+1", language=types.Language.PYTHON)),
            types.Part(code_execution_result=types.CodeExecutionResult(outcome=types.Outcome.OUTCOME_OK, output="2")),
        ),
    ),
    "a compaction": Event(
        author="user",
        actions=EventActions(
            compaction=EventCompaction(
                start_timestamp=1.25, end_timestamp=2.5, compacted_content=content(types.Part(text="so far"))
            )
        ),
    ),
    "a rewind": Event(author="user", actions=EventActions(rewind_before_invocation_id="i1", artifact_delta={"f": 2})),
    "no content": Event(author="user"),
    "odd texts": said("\x00 \u2028 🌞 \ufffe", invocation_id="é", branch="a.b"),
    "large numbers": said("x", custom_metadata={"n": 2**63, "f": 1e300, "m": -(2**80)}),
    "all": Event(
        id="e1",
        invocation_id="i1",
        author="user",
        branch="root.child",
        content=types.Content(role="user", parts=[types.Part(text="text")]),
        turn_complete=True,
        partial=False,
        actions=EventActions(
            artifact_delta={"file": 0}, transfer_to_agent="agent", escalate=True, skip_summarization=True, agent_state={"n": 1}
        ),
        error_code="error_code",
        error_message="error_message",
        interrupted=True,
        finish_reason=types.FinishReason.STOP,
        grounding_metadata=types.GroundingMetadata(web_search_queries=["query1"]),
        citation_metadata=types.CitationMetadata(),
        custom_metadata={"custom_key": "custom_value"},
        timestamp=1700000000.123,
    ),
}


@pytest.mark.parametrize("name", EVENTS)
async def test_event_comes_back_equal(service: Service, app: str, session: Session, name: str) -> None:
    event = EVENTS[name].model_copy(deep=True)
    await service.append_event(session, event)
    found = await read(service, app, "s1")
    assert found.events == [EVENTS[name]]
    assert found == session


@pytest.mark.parametrize("seconds", [0.0, 1.0, 0.1, 1e-9, 1700000000.123456, 1793498400.0, 1793502000.5, 4102444800.999999])
async def test_time_comes_back_to_the_last_bit(service: Service, app: str, session: Session, seconds: float) -> None:
    await service.append_event(session, said("x", timestamp=seconds))
    found = await read(service, app, "s1")
    assert (found.events[0].timestamp, found.last_update_time) == (seconds, seconds)


@pytest.fixture
def new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The time zone of this process."""
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "America/New_York")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("new_york")
async def test_hours_of_a_repeated_local_hour_stay_apart(service: Service, app: str, session: Session) -> None:
    first, second = 1793509200.0, 1793512800.0  # 1 November 2026, 01:00 in New York, twice
    await service.append_event(session, said("first", timestamp=first))
    await service.append_event(session, said("second", timestamp=second))
    found = await read(service, app, "s1", after_timestamp=second)
    assert [event.timestamp for event in found.events] == [second]
    assert [event.timestamp for event in (await read(service, app, "s1")).events] == [first, second]


async def test_value_that_json_rejects_becomes_its_string_form(service: Service, app: str, session: Session) -> None:
    event = said("x", custom_metadata={"bad": print, "good": 1}, invocation_id="i1")
    event.actions.agent_state = {"bad": print}
    await service.append_event(session, event)
    (found,) = (await read(service, app, "s1")).events
    assert found.custom_metadata is not None
    assert isinstance(found.custom_metadata["bad"], str)
    assert (found.custom_metadata["good"], found.invocation_id) == (1, "i1")


async def stored(service: Service, client: AsyncClient, session: Session, event: Event) -> StoredEvent:
    """The event as other SDKs read it."""
    await service.append_event(session, event)
    ref = SessionRef(app=session.app_name, user_id=session.user_id, session_id=session.id)
    return [each async for each in client.events(ref)][-1]


async def test_typed_event_has_author_branch_invocation_time_and_usage(
    service: Service, client: AsyncClient, session: Session
) -> None:
    usage = types.GenerateContentResponseUsageMetadata(
        prompt_token_count=7,
        candidates_token_count=5,
        thoughts_token_count=3,
        cached_content_token_count=2,
        total_token_count=15,
    )
    event = said("hello", author="helper", branch="root.child", invocation_id="i1", timestamp=1.5, usage_metadata=usage)
    found = await stored(service, client, session, event)
    assert (found.role, found.text, found.id) == ("assistant", "hello", event.id)
    assert (found.author, found.branch, found.invocation_id) == ("helper", "root.child", "i1")
    assert found.pb.event_time.ToNanoseconds() == 1_500_000_000
    counts = found.usage
    assert (counts.input_tokens, counts.output_tokens, counts.total_tokens) == (7, 8, 15)
    assert (counts.cached_tokens, counts.reasoning_tokens) == (2, 3)


async def test_typed_parts_of_a_model_are_complete(service: Service, client: AsyncClient, session: Session) -> None:
    parts = [
        types.Part(text="hm", thought=True, thought_signature=b"s1"),
        types.Part(text="Let me see."),
        types.Part(function_call=types.FunctionCall(id="c1", name="f", args={"a": [1, None]}), thought_signature=b"s2"),
        types.Part(inline_data=types.Blob(data=BYTES, mime_type="image/png", display_name="a.png")),
        types.Part(file_data=types.FileData(file_uri="gs://b/a.pdf", mime_type="application/pdf")),
        types.Part(executable_code=types.ExecutableCode(code="1+1", language=types.Language.PYTHON)),
    ]
    found = await stored(service, client, session, Event(author="helper", content=content(*parts)))
    kinds = [part.WhichOneof("content") for part in found.message.parts]
    assert kinds == ["reasoning", "text", "reasoning", "tool_call", "media", "media", "data"]
    thought, _, signature, _, image, document, code = found.message.parts
    assert (thought.reasoning.text, thought.reasoning.signature, signature.reasoning.signature) == ("hm", b"s1", b"s2")
    assert [(each.id, each.name, each.args) for each in found.tool_calls] == [("c1", "f", {"a": [1, None]})]
    assert (image.media.data, image.media.mime_type, image.media.name) == (BYTES, "image/png", "a.png")
    assert (document.media.uri, document.media.mime_type) == ("gs://b/a.pdf", "application/pdf")
    assert json.loads(code.data.json) == {"executable_code": {"code": "1+1", "language": "PYTHON"}}


@pytest.mark.parametrize(
    ("response", "text", "is_error"),
    [
        ({"result": "21 degrees"}, "21 degrees", False),
        ({"output": {"n": 1}}, '{"n": 1}', False),
        ({"celsius": 21, "sky": "clear"}, '{"celsius": 21, "sky": "clear"}', False),
        ({"error": "offline"}, "offline", True),
        ({"error": "offline", "code": 5}, '{"error": "offline", "code": 5}', True),
        ({"error": None, "n": 1}, '{"error": null, "n": 1}', False),
        ({"result": None}, "", False),
        (None, "", False),
    ],
)
async def test_typed_result_has_id_name_value_and_error(
    service: Service, client: AsyncClient, session: Session, response: dict[str, Any] | None, text: str, is_error: bool
) -> None:
    answer = types.Part(function_response=types.FunctionResponse(id="c1", name="f", response=response))
    event = Event(author="helper", content=types.Content(role="user", parts=[answer]))
    found = await stored(service, client, session, event)
    assert found.role == "tool"
    (result,) = found.tool_results
    assert (result.call_id, result.name, result.text, result.is_error) == ("c1", "f", text, is_error)


@pytest.mark.parametrize(
    ("event", "role", "text"),
    [
        (said("hi"), "user", "hi"),
        (said("hi", author="helper"), "assistant", "hi"),
        (Event(author="user", input_transcription=types.Transcription(text="heard")), "user", "heard"),
        (Event(author="helper", output_transcription=types.Transcription(text="spoken")), "assistant", "spoken"),
        (Event(author="user"), "assistant", ""),  # no turn begins
    ],
)
async def test_typed_event_has_role_and_text(
    service: Service, client: AsyncClient, session: Session, event: Event, role: str, text: str
) -> None:
    found = await stored(service, client, session, event.model_copy(deep=True))
    assert (found.role, found.text) == (role, text)


async def test_typed_compaction_is_a_synthetic_summary(service: Service, client: AsyncClient, session: Session) -> None:
    found = await stored(service, client, session, EVENTS["a compaction"].model_copy(deep=True))
    assert (found.synthetic, found.compaction_source, found.text, found.role) == (True, "google-adk", "so far", "assistant")


@pytest.mark.parametrize("branch", ["a..b", ".", "x" * 2_000, ".".join("a" * 65)])
async def test_branch_that_an_event_cannot_have_is_kept_in_the_item(
    service: Service, client: AsyncClient, app: str, session: Session, branch: str
) -> None:
    assert (await stored(service, client, session, said("x", branch=branch))).branch == ""
    assert (await read(service, app, "s1")).events[0].branch == branch


async def test_item_of_a_later_version_is_read_by_its_parts(
    service: Service, client: AsyncClient, app: str, session: Session, ref: SessionRef
) -> None:
    await service.append_event(session, said("hello", author="helper", invocation_id="i1"))
    copy = (await client.events_page(ref)).events[0].pb
    item = json.loads(copy.native.content)
    item["actions"]["a_field_of_tomorrow"] = {}
    copy.native.content, copy.event_id = json.dumps(item).encode(), "e2"
    await client.append(ref, copy)
    last = (await read(service, app, "s1")).events[-1]
    assert (last.id, last.author, last.invocation_id) == ("e2", "helper", "i1")
    assert last.content == content(types.Part(text="hello"))

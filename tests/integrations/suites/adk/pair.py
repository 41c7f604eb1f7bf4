"""Writes events of Python's ADK, copies those of a session to another as its own, or compares: half of a test.

python -m tests.integrations.suites.adk.pair ADDRESS [write SESSION | copy FROM,TO | check SESSION]...
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

from google.adk.events import Event, EventActions
from google.adk.events.event_actions import EventCompaction
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.genai import types

from threadkeep import AsyncClient
from threadkeep.integrations.adk import ThreadkeepSessionService

APP, USER = "pair", "ada"
BYTES = b"\xfb\xff\xfe\0\1"


async def main(address: str, *steps: str) -> None:
    """Makes the steps. Fails if the events of a checked session are not those that were written."""
    async with AsyncClient(address) as client:
        service = ThreadkeepSessionService(client)
        for step, sessions in zip(steps[::2], steps[1::2], strict=True):
            first, _, second = sessions.partition(",")
            if step == "write":
                await _write(service, first, events())
            elif step == "copy":
                await _write(service, second, await _read(service, first))
            else:
                found, wanted = await _read(service, first), events()
                assert found == wanted, f"{found}\n{wanted}"


async def _read(service: ThreadkeepSessionService, session_id: str) -> Sequence[Event]:
    session = await service.get_session(app_name=APP, user_id=USER, session_id=session_id)
    assert session is not None
    return session.events


async def _write(service: ThreadkeepSessionService, session_id: str, written: Sequence[Event]) -> None:
    session = await service.create_session(app_name=APP, user_id=USER, session_id=session_id)
    for event in written:
        await service.append_event(session, event)


def events() -> list[Event]:
    """Events with all that Java's ADK has too. Its times are milliseconds."""
    image = types.Part.from_bytes(data=BYTES, mime_type="image/png")
    asked = types.Content(role="user", parts=[types.Part(text="Compare. 🌞"), image])
    call = types.FunctionCall(id="c1", name="weather", args={"cityName": "Oslo", "snake_case": {"aB": None}})
    called = types.Content(
        role="model",
        parts=[types.Part(text="Hm.", thought=True), types.Part(function_call=call, thought_signature=BYTES)],
    )
    response = types.FunctionResponse(id="c1", name="weather", response={"error": "offline"})
    returned = types.Content(role="user", parts=[types.Part(function_response=response)])
    summary = types.Content(role="model", parts=[types.Part(text="They compared.")])
    return [
        Event(
            id="e1",
            invocation_id="i1",
            author="user",
            content=asked,
            timestamp=1_764_259_200.123,
            actions=EventActions(state_delta={"k_a": [1, {"b": None}], "user:gone": None}, artifact_delta={"a_b.png": 2}),
        ),
        Event(
            id="e2",
            invocation_id="i1",
            author="helper",
            branch="root.helper",
            content=called,
            timestamp=1_764_259_201.0,
            long_running_tool_ids={"c1"},
            model_version="m-1",
            finish_reason=types.FinishReason.STOP,
            avg_logprobs=-0.25,
            usage_metadata=types.GenerateContentResponseUsageMetadata(prompt_token_count=10, total_token_count=12),
            custom_metadata={"snake_case": "x", "half": 0.5, "tags": ["a", "b"]},
            actions=EventActions(requested_tool_confirmations={"c1": ToolConfirmation(hint="Sure?", payload={"aB": 1})}),
        ),
        Event(id="e3", invocation_id="i1", author="helper", content=returned, timestamp=1_764_259_202.5),
        Event(
            id="e4",
            invocation_id="i2",
            author="user",
            timestamp=1_764_259_203.001,
            actions=EventActions(
                end_of_agent=True,
                compaction=EventCompaction(
                    start_timestamp=1_764_259_200.123, end_timestamp=1_764_259_202.5, compacted_content=summary
                ),
            ),
        ),
        Event(
            id="e5",
            author="user",
            timestamp=1_764_259_204.999,
            input_transcription=types.Transcription(text="On time?", finished=True),
            grounding_metadata=types.GroundingMetadata(
                web_search_queries=["oslo"], search_entry_point=types.SearchEntryPoint(sdk_blob=BYTES)
            ),
        ),
    ]


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

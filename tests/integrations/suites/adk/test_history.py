"""Rewinds and compactions of ADK, which append events and remove none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from google.adk.apps import App
from google.adk.apps.app import EventsCompactionConfig
from google.adk.apps.base_events_summarizer import BaseEventsSummarizer
from google.adk.artifacts import InMemoryArtifactService
from google.adk.events import Event, EventActions
from google.adk.events.event_actions import EventCompaction
from google.adk.runners import Runner
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from tests.integrations.suites.adk.support import USER, agent, call, content, read, run, scripted, texts
from threadkeep import AsyncClient, SessionRef
from threadkeep.integrations.adk import ThreadkeepSessionService

Service = ThreadkeepSessionService


def note(value: str, tool_context: ToolContext) -> dict[str, Any]:
    """Notes a value in every scope."""
    for key in ("k", f"k_{value}", "user:k", "app:k"):
        tool_context.state[key] = value
    return {"noted": value}


def noting(*values: str) -> Any:
    """An agent that notes one value in each run."""
    answers = [answer for value in values for answer in (content(call("note", f"c-{value}", value=value)), f"noted {value}")]
    return scripted(*answers)


async def rewound(service: Service, app: str, model: Any, before: Sequence[int]) -> Runner:
    """A runner that made three runs and then went back before some of them, one after the other."""
    runner = Runner(agent=agent(model, note), app_name=app, session_service=service)
    invocations = [(await run(runner, "s1", f"note {value}"))[0].invocation_id for value in "abc"]
    for number in before:
        await runner.rewind_async(user_id=USER, session_id="s1", rewind_before_invocation_id=invocations[number])
    return runner


async def test_rewind_restores_the_state_of_the_session_only(service: Service, app: str) -> None:
    await service.create_session(app_name=app, user_id=USER, session_id="s1")
    await rewound(service, app, noting(*"abc"), [1])
    state = (await read(service, app, "s1")).state
    assert (state["k"], state["k_a"]) == ("a", "a")
    assert (state["k_b"], state["k_c"]) == (None, None)
    assert (state["user:k"], state["app:k"]) == ("c", "c")


async def test_rewind_removes_no_event_and_the_next_run_sees_what_was_before(service: Service, app: str) -> None:
    await service.create_session(app_name=app, user_id=USER, session_id="s1")
    model = noting(*"abcd")
    runner = await rewound(service, app, model, [1])
    await run(runner, "s1", "note d")
    found = await read(service, app, "s1")
    assert [text for text in texts(found) if text.startswith("note ")] == ["note a", "note b", "note c", "note d"]
    assert [event.actions.rewind_before_invocation_id is not None for event in found.events].count(True) == 1
    seen = [part.text for each in model.requests[-1].contents for part in each.parts or () if part.text]
    assert seen == ["note a", "noted a", "note d"]


async def test_rewinds_compose(service: Service, app: str) -> None:
    await service.create_session(app_name=app, user_id=USER, session_id="s1")
    model = noting(*"abcd")
    runner = await rewound(service, app, model, [2, 0])
    await run(runner, "s1", "note d")
    seen = [part.text for each in model.requests[-1].contents for part in each.parts or () if part.text]
    assert seen == ["note d"]
    state = (await read(service, app, "s1")).state
    assert (state["k"], state["k_a"], state["k_b"], state["k_c"]) == ("d", None, None, None)


async def test_rewind_sets_keys_of_the_initial_state_to_null(service: Service, app: str) -> None:
    """As with every other session service: the initial state is in no event, and ADK computes what to restore."""
    await service.create_session(app_name=app, user_id=USER, session_id="s1", state={"first": 1})
    await rewound(service, app, noting(*"abc"), [1])
    assert (await read(service, app, "s1")).state["first"] is None


async def test_rewind_saves_artifacts_of_the_session_again(service: Service, app: str) -> None:
    async def draw(text: str, tool_context: ToolContext) -> dict[str, Any]:
        """Saves a text as an artifact."""
        for name in ("picture", f"picture-{text}", "user:album"):
            await tool_context.save_artifact(name, types.Part.from_bytes(data=text.encode(), mime_type="text/plain"))
        return {"saved": True}

    artifacts = InMemoryArtifactService()
    answers = [answer for text in "ab" for answer in (content(call("draw", f"c-{text}", text=text)), "saved")]
    runner = Runner(
        agent=agent(scripted(*answers), draw),
        app_name=app,
        session_service=service,
        artifact_service=artifacts,
        auto_create_session=True,
    )
    runs = [await run(runner, "s1", text) for text in "ab"]
    before = runs[1][0].invocation_id
    await runner.rewind_async(user_id=USER, session_id="s1", rewind_before_invocation_id=before)
    rewind = (await read(service, app, "s1")).events[-1]
    assert rewind.actions.artifact_delta == {"picture": 2, "picture-b": 1}
    restored = await artifacts.load_artifact(app_name=app, user_id=USER, session_id="s1", filename="picture")
    assert restored is not None
    assert restored.inline_data is not None
    assert restored.inline_data.data == b"a"


class Summarizer(BaseEventsSummarizer):
    """Summarizes by counting."""

    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        """The summary of the events, as ADK's own summarizer makes it."""
        summary = EventCompaction(
            start_timestamp=events[0].timestamp,
            end_timestamp=events[-1].timestamp,
            compacted_content=content(types.Part(text=f"summary of {len(events)} events")),
        )
        return Event(author="user", invocation_id=Event.new_id(), actions=EventActions(compaction=summary))


async def compacted(service: Service, app: str, model: Any, runs: int, **trigger: int) -> None:
    """A session whose runner compacts after every second run, or as the trigger says."""
    config = EventsCompactionConfig(summarizer=Summarizer(), **(trigger or {"compaction_interval": 2, "overlap_size": 0}))
    runner = Runner(
        app=App(name=app, root_agent=agent(model), events_compaction_config=config),
        session_service=service,
        auto_create_session=True,
    )
    for number in range(runs):
        await run(runner, "s1", f"question {number}")


async def test_compaction_is_an_event_and_the_raw_events_stay(service: Service, app: str) -> None:
    await compacted(service, app, scripted("a0", "a1", "a2"), 2)
    found = await read(service, app, "s1")
    assert texts(found) == ["question 0", "a0", "question 1", "a1"]
    summary = found.events[-1].actions.compaction
    assert summary is not None
    assert (summary.start_timestamp, summary.end_timestamp) == (found.events[0].timestamp, found.events[3].timestamp)
    assert summary.compacted_content == content(types.Part(text="summary of 4 events"))


async def test_run_after_a_compaction_sees_the_summary_in_place_of_what_it_covers(service: Service, app: str) -> None:
    model = scripted("a0", "a1", "a2")
    await compacted(service, app, model, 3)
    seen = [part.text for each in model.requests[-1].contents for part in each.parts or ()]
    assert [text for text in seen if text and "question" in text] == ["question 2"]
    assert any("summary of 4 events" in (text or "") for text in seen)


async def test_later_compaction_takes_the_place_of_one_that_it_covers(service: Service, app: str) -> None:
    model = scripted("a0", "a1", "a2")
    await compacted(service, app, model, 3, compaction_interval=1, overlap_size=1)
    found = await read(service, app, "s1")
    summaries = [event.actions.compaction for event in found.events if event.actions.compaction]
    assert [each.start_timestamp <= found.events[0].timestamp for each in summaries] == [True, True, False]
    seen = [part.text for each in model.requests[-1].contents for part in each.parts or () if part.text]
    assert [text for text in seen if "summary of" in text] == ["summary of 4 events"]
    assert len(found.events) == 9


async def test_compaction_by_tokens_keeps_the_newest_events(service: Service, app: str) -> None:
    usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=100, total_token_count=110)
    model = scripted("a0", "a1", "a2")
    model.usage = usage
    await compacted(service, app, model, 2, token_threshold=50, event_retention_size=1)
    found = await read(service, app, "s1")
    assert texts(found) == ["question 0", "a0", "question 1", "a1"]
    ends = [event.actions.compaction.end_timestamp for event in found.events if event.actions.compaction]
    assert ends
    (last,) = [event.timestamp for event in found.events if event.content and event.content == content(types.Part(text="a1"))]
    assert ends[-1] < last


async def test_other_sdks_find_the_summary_of_a_compaction(service: Service, client: AsyncClient, app: str) -> None:
    await compacted(service, app, scripted("a0", "a1"), 2)
    ref = SessionRef(app=app, user_id=USER, session_id="s1")
    found = [each async for each in client.events(ref) if each.synthetic]
    assert [(each.text, each.compaction_source) for each in found] == [("summary of 4 events", "google-adk")]


@pytest.mark.parametrize("fields", [{"compaction_interval": 2}, {"token_threshold": 5}, {}])
async def test_triggers_of_compaction_are_set_in_pairs(fields: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be"):
        EventsCompactionConfig(summarizer=Summarizer(), **fields)

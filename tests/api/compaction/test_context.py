"""GetContext on both engines: selection, limits and the state of the session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from threadkeep import assistant, system, text_of, tool_result, user
from threadkeep.v1 import event_pb2, event_service_pb2, session_pb2

from ..bad_input.requests import Wire, wire, wire_on


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with wire_on(request.param, request, tmp_path_factory.mktemp("data")) as each:
        yield each


def calling(call_id: str, **fields: Any) -> event_pb2.SessionEvent:
    event = assistant("", **fields)
    part = event.message.parts.add()
    part.tool_call.id, part.tool_call.name, part.tool_call.arguments_json = call_id, "look", "{}"
    return event


@pytest.fixture(scope="module")
def talk(opened: Wire) -> session_pb2.SessionRef:
    """Three turns; the second with a tool, the third with another agent."""
    ref = opened.new_session()
    opened.append(
        ref,
        system("be kind", event_id="S"),
        user("one", event_id="U1"),
        assistant("a1", event_id="A1", author="writer"),
        user("two", event_id="U2"),
        calling("c", event_id="A2", author="writer"),
        tool_result("c", "found", event_id="T2"),
        assistant("a2", event_id="A3", author="critic", author_role="review"),
        user("three", event_id="U3"),
        assistant("aside", event_id="B", author="helper", branch="sub"),
    )
    return ref


def seen(opened: Wire, ref: session_pb2.SessionRef, **spec: Any) -> str:
    return " ".join(event.event_id for event in opened.call("GetContext", session=ref, spec=spec).events)


@pytest.mark.parametrize(
    ("spec", "ids"),
    [
        ({}, "S U1 A1 U2 A2 T2 A3 U3 B"),
        ({"last_n": 3}, "S U2 A2 T2 A3 U3 B"),
        ({"last_n": 2}, "S U3 B"),
        ({"max_turns": 1}, "S U3 B"),
        ({"max_turns": 2}, "S U2 A2 T2 A3 U3 B"),
        ({"max_tokens": 1}, "S U3 B"),
        ({"max_bytes": 1}, "S U3 B"),
        ({"exclude_system": True, "max_turns": 1}, "U3 B"),
        ({"mode": "CONTEXT_MODE_WRITE_ONLY"}, ""),
        ({"mode": "CONTEXT_MODE_NONE"}, ""),
        ({"mode": "CONTEXT_MODE_READ_ONLY", "max_turns": 1}, "S U3 B"),
        ({"branch": "other"}, "S U1 A1 U2 A2 T2 A3 U3"),
        ({"author_filters": [{"include": {"ids": ["critic"]}}]}, "S A3"),
        ({"author_filters": [{"include": {"roles": ["review"]}}]}, "S A3"),
        # The result of a hidden call is hidden too.
        ({"author_filters": [{"exclude": {"ids": ["writer"]}}]}, "S U1 U2 A3 U3 B"),
        ({"author_filters": [{"include": {"roles": ["mine"]}}], "author_roles": {"helper": "mine"}}, "S B"),
    ],
)
def test_a_context_contains_the_selected_events(
    opened: Wire, talk: session_pb2.SessionRef, spec: dict[str, Any], ids: str
) -> None:
    assert seen(opened, talk, **spec) == ids


def test_a_context_reports_versions_and_covered_seqs(opened: Wire, talk: session_pb2.SessionRef) -> None:
    session = opened.call("GetSession", session=talk).session
    context = opened.call("GetContext", session=talk, spec={"max_turns": 2})
    assert (context.truncated, context.first_seq, context.last_seq, context.over_budget) == (True, 4, 9, False)
    assert (context.log_version, context.window_version, context.session_last_seq) == (1, 0, 9)
    assert context.window == session.window
    assert (context.context.events, context.context.turns) == (7, 2)
    whole = opened.call("GetContext", session=talk)
    assert (whole.truncated, whole.first_seq, whole.context) == (False, 2, session.window)
    over = opened.call("GetContext", session=talk, spec={"max_tokens": 1})
    assert (over.truncated, over.over_budget) == (True, True)


def test_omitted_events_are_listed_in_pages(opened: Wire, talk: session_pb2.SessionRef) -> None:
    context = opened.call("GetContext", session=talk, spec={"max_turns": 1})
    older = opened.call("ListEvents", session=talk, filter={"before_seq": context.first_seq}).events
    ids = [event.event_id for event in (*older, *context.events) if event.event_id != "S"]
    assert ids == ["U1", "A1", "U2", "A2", "T2", "A3", "U3", "B"]


def test_an_unknown_session_has_an_empty_context(opened: Wire) -> None:
    assert opened.call("GetContext", session={"session_id": "nobody"}) == event_service_pb2.GetContextResponse(
        context=session_pb2.WindowCounters(), window=session_pb2.WindowCounters()
    )


def test_an_agent_compacts_what_it_read(opened: Wire) -> None:
    """Reads, summarizes with its own model, and applies. Later events stay; a second attempt is too late."""
    ref = opened.new_session()
    opened.append(ref, system("be kind"), user("one"), assistant("a1"))
    context = opened.call("GetContext", session=ref)
    opened.append(ref, user("two"))
    shadow, summary = user("What did we say?"), assistant("One was answered.")
    for event in (shadow, summary):
        event.synthetic, event.compaction_source = True, "own model"
    fields = {
        "session": ref,
        "expected_window_version": context.window_version,
        "through_seq": context.session_last_seq,
        "inserts": [{"events": [shadow, summary]}],
    }
    assert opened.call("ApplyCompaction", **fields).applied
    result = [text_of(event) for event in opened.call("GetContext", session=ref).events]
    assert result == ["be kind", "What did we say?", "One was answered.", "two"]
    assert opened.refused("ApplyCompaction", **fields).reason == "VERSION_MISMATCH"


def test_a_context_size_comes_from_request_session_or_server(tmp_path: Path) -> None:
    """The size comes from the request, else from the session, else from the server."""
    with wire(tmp_path, context_bytes=1250) as opened:
        ref, large = opened.new_session(), opened.new_session(context_bytes=10_000)
        for session in (ref, large):
            for number in range(5):
                opened.append(session, user("x" * 500, event_id=f"U{number}"))
        assert seen(opened, ref) == "U3 U4"
        assert seen(opened, large) == "U0 U1 U2 U3 U4"
        assert seen(opened, ref, max_bytes=1500) == "U2 U3 U4"
        assert seen(opened, large, max_bytes=500) == "U4"
        opened.call("UpdateSession", session=ref, context_bytes=2000, update_mask={"paths": ["context_bytes"]})
        assert seen(opened, ref) == "U1 U2 U3 U4"


def test_a_context_fits_a_response(tmp_path: Path) -> None:
    """A context larger than a message is truncated at a turn, like one over a size limit, and reports it."""
    with wire(tmp_path, max_response_bytes="1MiB", context_bytes="1GiB") as opened:
        ref = opened.new_session()
        for number in range(6):
            opened.append(ref, user("x" * 400_000, event_id=f"U{number}"))
        context = opened.call("GetContext", session=ref)
        assert [event.event_id for event in context.events] == ["U4", "U5"]
        assert context.truncated
        assert context.ByteSize() < 1 << 20

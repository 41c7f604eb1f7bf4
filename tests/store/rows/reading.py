"""Reading a log: fidelity, pages, cursors, byte limits, windows that are read in pieces."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.support.clock import NOW
from tests.support.codec import as_draft, draft, event, parse, texts
from tests.support.sessions import TENANT, append, create, read, read_in_pages, ref, session_with
from threadkeep.v1 import event_pb2, message_pb2
from threadkeep_server.domain.errors import EventNotFound
from threadkeep_server.domain.filters import ALL, EventFilter
from threadkeep_server.domain.model import SECOND_NS, Role, Usage
from threadkeep_server.store.contract.events import EventQuery
from threadkeep_server.store.contract.store import Store

EVERY_TEXT = ["", "\x00", "a\x00b", "it's", "🦀👩‍👩‍👧", "e\u0301", "漢字", "line\nbreak\r\n", "\ufffd", "\u202e", "x" * 100_000]


class FidelityRows:
    """What was sent comes back: the caller's bytes, followed by what the server adds."""

    @pytest.fixture
    def new_york(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        monkeypatch.setenv("TZ", "America/New_York")
        time.tzset()
        yield
        monkeypatch.undo()
        time.tzset()

    async def test_the_stored_bytes_begin_with_the_callers(self, store: Store) -> None:
        await create(store)
        sent = draft("hello", author="a", branch="b.c", time=5, metadata_json='{"x": 1.0}', usage=Usage(1, 2, 3))
        await append(store, sent, now=NOW + 7)
        (stored,) = await read(store)
        assert stored.body.startswith(sent.body)
        assert (stored.seq, stored.archived) == (1, False)
        reported = parse(stored)
        assert (reported.seq, reported.token_estimate, reported.size_bytes, reported.archived) == (1, 2, len(sent.body), False)
        assert reported.record_time.seconds * SECOND_NS + reported.record_time.nanos == NOW + 7
        assert await store.get_event(TENANT, ref(), sent.event_id) == stored

    async def test_fields_of_newer_writers_are_kept(self, store: Store) -> None:
        """An unknown field travels on, byte for byte."""
        await create(store)
        unknown = b"\xaa\x3f\x05hello"  # field 1013, which this version does not know
        sent = event("x")
        sent.MergeFromString(unknown)
        await append(store, as_draft(sent))
        (stored,) = await read(store)
        assert unknown in stored.body

    @pytest.mark.parametrize("text", EVERY_TEXT, ids=lambda text: ascii(text)[:12])
    async def test_every_text_survives_the_round_trip(self, store: Store, text: str) -> None:
        await session_with(store, draft(text))
        assert texts(await read(store)) == [text]

    async def test_tool_calls_results_and_media_survive_the_round_trip(self, store: Store) -> None:
        parts = [
            message_pb2.Part(
                tool_call=message_pb2.ToolCallPart(id="c2", name="b", kind="function", arguments_json='{ "b":1e400 }')
            ),
            message_pb2.Part(tool_call=message_pb2.ToolCallPart(id="c1", name="a", arguments_json='{"a": 9007199254740993}')),
            message_pb2.Part(media=message_pb2.MediaPart(mime_type="image/png", data=bytes(range(256)), name="x.png")),
            message_pb2.Part(media=message_pb2.MediaPart(mime_type="image/png", uri="https://example.com/#c", detail="low")),
            message_pb2.Part(reasoning=message_pb2.ReasoningPart(text="hm", signature=b"\x00\xff", encrypted=b"\xfe")),
        ]
        results = [
            message_pb2.Part(tool_result=message_pb2.ToolResultPart(call_id="c1", name="a", structured_json="230.0")),
            message_pb2.Part(tool_result=message_pb2.ToolResultPart(call_id="c2", name="b", is_error=True)),
        ]
        sent = [
            draft(None, role=Role.ASSISTANT, parts=parts, metadata_json='{"k": "\\ud800"}'),
            draft(None, role=Role.TOOL, parts=results),
        ]
        await session_with(store, *sent)
        stored = await read(store)
        assert [item.body[: len(one.body)] for item, one in zip(stored, sent, strict=True)] == [one.body for one in sent]
        call, result = (parse(item).message for item in stored)
        assert list(call.parts) == parts
        assert list(result.parts) == results
        assert texts(stored) == ["", ""]

    @pytest.mark.parametrize("nanos", [0, 1, 999, 1_000, 123_456_789, -1, -SECOND_NS + 1, 2**62])
    async def test_times_are_kept_and_compared_to_the_nanosecond(self, store: Store, nanos: int) -> None:
        await session_with(store, draft("x", time=nanos))
        assert len(await read(store, EventFilter(from_time=nanos, to_time=nanos))) == 1
        assert await read(store, EventFilter(from_time=nanos + 1)) == []
        assert await read(store, EventFilter(to_time=nanos - 1)) == []

    async def test_an_event_without_a_time_is_filtered_by_its_record_time(self, store: Store) -> None:
        await create(store)
        await append(store, draft("a"), now=NOW)
        await append(store, draft("b"), now=NOW + 1)
        assert texts(await read(store, EventFilter(from_time=NOW + 1))) == ["b"]
        assert texts(await read(store, EventFilter(to_time=NOW))) == ["a"]
        assert not parse((await read(store))[0]).HasField("event_time")

    @pytest.mark.usefixtures("new_york")
    async def test_the_servers_time_zone_has_no_effect(self, store: Store) -> None:
        await session_with(store, draft("x", time=NOW), expire_time=NOW + 1)
        session = await store.get_session(TENANT, ref())
        assert (session.create_time, session.expire_time) == (NOW, NOW + 1)
        assert len(await read(store, EventFilter(from_time=NOW, to_time=NOW))) == 1

    async def test_an_unknown_event_is_named(self, store: Store) -> None:
        await session_with(store, draft("x", event_id="e1"))
        await session_with(store, draft("y", event_id="e2"), session_id="s2")
        with pytest.raises(EventNotFound, match="e2") as caught:
            await store.get_event(TENANT, ref(), "e2")
        assert caught.value.metadata == {"session_id": "s1", "event_id": "e2"}

    async def test_large_events_survive_the_round_trip(self, store: Store) -> None:
        large = message_pb2.Part(media=message_pb2.MediaPart(mime_type="a/b", data=b"\x07" * 3_000_000))
        await session_with(store, draft("x", parts=[large]))
        assert len(parse((await read(store))[0]).message.parts[1].media.data) == 3_000_000


class PagingRows:
    async def test_an_unknown_session_gives_an_empty_page(self, store: Store) -> None:
        page = await store.list_events(TENANT, ref("nowhere"), EventQuery())
        assert (list(page.events), page.cursor, page.log_version, page.last_seq) == ([], None, 0, 0)
        bare = await store.list_events(TENANT, ref("nowhere", user="", app=""), EventQuery(EventFilter(last_n=3)))
        assert (list(bare.events), bare.cursor) == ([], None)

    async def test_a_page_has_the_versions_of_the_log(self, store: Store) -> None:
        await session_with(store, draft("a"), draft("b"))
        for wanted in (ALL, EventFilter(keyword="nowhere"), EventFilter(last_n=1)):
            page = await store.list_events(TENANT, ref(), EventQuery(wanted))
            assert (page.log_version, page.last_seq) == (2, 2)

    @pytest.mark.parametrize("descending", [False, True])
    @pytest.mark.parametrize("limit", [1, 2, 3, 6, 7, 8])
    async def test_pages_follow_one_another_without_gap_or_overlap(self, store: Store, limit: int, descending: bool) -> None:
        await session_with(store, *(draft(f"m{number}") for number in range(7)))
        pages = await read_in_pages(store, limit=limit, descending=descending)
        wanted = [f"m{number}" for number in range(7)]
        assert texts(item for page in pages for item in page) == (wanted[::-1] if descending else wanted)
        assert [len(page) for page in pages] == [limit] * (7 // limit) + ([7 % limit] if 7 % limit else [])

    @pytest.mark.parametrize("descending", [False, True])
    async def test_pages_hold_only_matches(self, store: Store, descending: bool) -> None:
        await session_with(store, *(draft(f"{'hit' if number % 3 else 'miss'} {number}") for number in range(12)))
        pages = await read_in_pages(store, EventFilter(keyword="HIT"), limit=3, descending=descending)
        assert [len(page) for page in pages] == [3, 3, 2]
        found = texts(item for page in pages for item in page)
        assert sorted(found) == sorted(f"hit {number}" for number in range(12) if number % 3)

    @pytest.mark.parametrize("descending", [False, True])
    async def test_pages_stay_within_their_bytes_but_hold_at_least_one(self, store: Store, descending: bool) -> None:
        sizes = [10, 4000, 10, 10, 900, 900, 900, 10, 4000, 4000, 10]
        await session_with(store, *(draft("x" * size) for size in sizes))
        everything = await read(store, descending=descending)
        for max_bytes in (1, 500, 1000, 2000, 5000, 1 << 40):
            pages = await read_in_pages(store, max_bytes=max_bytes, descending=descending)
            assert [item for page in pages for item in page] == everything
            assert all(len(page) == 1 or sum(parse(item).size_bytes for item in page) <= max_bytes for page in pages)
        assert len(await read_in_pages(store, max_bytes=1)) == len(sizes)
        assert len(await read_in_pages(store, max_bytes=1 << 40)) == 1

    async def test_later_pages_have_events_appended_in_the_meantime(self, store: Store) -> None:
        await session_with(store, *(draft(f"m{number}") for number in range(3)))
        page = await store.list_events(TENANT, ref(), EventQuery(limit=2))
        await append(store, draft("later"))
        rest = await store.list_events(TENANT, ref(), EventQuery(limit=10, cursor=page.cursor))
        assert texts(rest.events) == ["m2", "later"]
        assert rest.cursor is None

    async def test_reading_backwards_is_not_affected_by_appends(self, store: Store) -> None:
        await session_with(store, *(draft(f"m{number}") for number in range(4)))
        page = await store.list_events(TENANT, ref(), EventQuery(limit=2, descending=True))
        await append(store, draft("later"))
        rest = await store.list_events(TENANT, ref(), EventQuery(limit=10, descending=True, cursor=page.cursor))
        assert texts([*page.events, *rest.events]) == ["m3", "m2", "m1", "m0"]

    @pytest.mark.parametrize("descending", [False, True])
    @pytest.mark.parametrize("window", [EventFilter(last_n=5), EventFilter(page=1, page_size=5), EventFilter(last_n=500)])
    async def test_a_window_read_in_pages_stays_the_same(self, store: Store, window: EventFilter, descending: bool) -> None:
        await session_with(store, *(draft(f"m{number:02}") for number in range(11)))
        wanted = texts(await read(store, window, descending=descending))
        assert len(wanted) in (5, 11)
        found: list[str] = []
        cursor = None
        while True:
            page = await store.list_events(TENANT, ref(), EventQuery(window, descending, limit=2, cursor=cursor))
            found += texts(page.events)
            await append(store, draft("later"))
            cursor = page.cursor
            if cursor is None:
                break
        assert found == wanted

    @pytest.mark.parametrize("descending", [False, True])
    async def test_a_window_cut_by_bytes_continues(self, store: Store, descending: bool) -> None:
        await session_with(store, *(draft(f"m{number} " + "x" * 300) for number in range(9)))
        for window in (EventFilter(last_n=4), EventFilter(page=1, page_size=4), EventFilter(keyword="m", last_n=4)):
            wanted = await read(store, window, descending=descending)
            pages = await read_in_pages(store, window, max_bytes=800, descending=descending)
            assert len(pages) > 1
            assert [item for page in pages for item in page] == wanted

    @pytest.mark.parametrize("descending", [False, True])
    async def test_a_turn_added_to_complete_a_window_is_read_in_pieces_too(self, store: Store, descending: bool) -> None:
        answers = [draft(f"a{number}", role=Role.ASSISTANT) for number in range(5)]
        await session_with(store, draft("u0"), draft("a", role=Role.ASSISTANT), draft("u1"), *answers)
        pages = await read_in_pages(store, EventFilter(last_n=2), limit=2, descending=descending)
        found = texts(item for page in pages for item in page)
        assert (found[::-1] if descending else found) == ["u1", "a0", "a1", "a2", "a3", "a4"]

    async def test_a_window_that_fits_has_no_cursor(self, store: Store) -> None:
        await session_with(store, *(draft(f"m{number}") for number in range(6)))
        for window in (EventFilter(last_n=3), EventFilter(page=0, page_size=3), EventFilter(page=9, page_size=3)):
            page = await store.list_events(TENANT, ref(), EventQuery(window, limit=3))
            assert page.cursor is None

    async def test_a_long_log_is_read_whole(self, store: Store) -> None:
        await create(store)
        await append(store, *(draft(f"m{number}", role=Role.ASSISTANT) for number in range(900)))
        assert [item.seq for page in await read_in_pages(store, limit=128) for item in page] == list(range(1, 901))
        assert [item.seq for item in await read(store, EventFilter(last_n=5))] == list(range(896, 901))
        assert event_pb2.SessionEvent.FromString((await read(store, EventFilter(last_n=1)))[0].body).seq == 900

"""Candidates of ranked searches. Each query runs twice: before the store's index has caught up, and afterwards."""

from __future__ import annotations

from itertools import product

import pytest

from tests.support.candidates import ALICE, SHOP, ask, caught_up, said_in, say, seqs, terms, twice, words
from tests.support.codec import CODEC, draft
from tests.support.sessions import TENANT, append, compact, create, placed, ref, session_with
from threadkeep.v1 import message_pb2
from threadkeep_server.domain.filters import ALL, Authors, AuthorStep, EventFilter
from threadkeep_server.domain.model import Role
from threadkeep_server.domain.scopes import EventScope, UserScope
from threadkeep_server.domain.search import ALL_FIELDS, Candidates, Field, WordQuery
from threadkeep_server.store.contract.store import Store


class CandidateRows:
    """The candidates, and their fields."""

    async def test_a_candidate_has_its_position_and_terms(self, store: Store) -> None:
        one = draft("A zebra and a giraffe", time=1_700_000_000 * 10**9, role=Role.ASSISTANT, author="bot")
        await say(store, draft("nothing of the kind", time=5), one)
        async for _ in twice(store):
            (found,) = (await ask(store, "giraffe")).found
            assert (found.position >> 20, found.time, found.role, found.author) == (2, one.event_time, Role.ASSISTANT, "bot")
            assert found.words == words(one)
            (event,) = await store.events_by_key(TENANT, ALICE, [found.key])
            assert (event.key, event.session, event.time) == (found.key, found.session, found.time)

    async def test_any_term_is_enough_and_frequencies_are_returned_for_each(self, store: Store) -> None:
        await say(store, draft("zebra"), draft("giraffe"), draft("zebra giraffe giraffe"), draft("lion"))
        async for _ in twice(store):
            found = await ask(store, "zebra giraffe hippo")
            assert sorted(each.position >> 20 for each in found.found) == [1, 2, 3]
            zebra, giraffe = terms("zebra giraffe")
            assert (found.documents, found.frequencies, found.complete) == (4, {zebra: 2, giraffe: 2}, True)

    async def test_without_terms_or_without_matches_there_is_nothing(self, store: Store) -> None:
        await say(store, draft("zebra"), draft("giraffe"))
        async for _ in twice(store):
            assert await ask(store, "") == Candidates([], 2)
            assert await ask(store, "hippo") == Candidates([], 2)
            assert await ask(store, "zebra", UserScope("nobody")) == Candidates([], 1)

    async def test_selected_fields_are_searched_and_dates_always(self, store: Store) -> None:
        call = message_pb2.ToolCallPart(id="c", name="lookup", arguments_json='{"animal": "zebra"}')
        result = message_pb2.ToolResultPart(call_id="c", name="zebra")
        media = message_pb2.MediaPart(name="zebra.png", mime_type="image/png", uri="file:///x")
        drafts = [
            draft("zebra", time=7),
            draft("text", time=7, role=Role.ASSISTANT, parts=[message_pb2.Part(tool_call=call)]),
            draft("text", time=7, role=Role.TOOL, parts=[message_pb2.Part(tool_result=result)]),
            draft("text", time=7, parts=[message_pb2.Part(media=media)]),
        ]
        await say(store, *drafts)
        date = CODEC.words(drafts[0].body, 7).dates[0]
        fields = list(Field)
        async for _ in twice(store):
            for place, field in enumerate(fields):
                (found,) = (await ask(store, "zebra", fields=field)).found
                assert found.position >> 20 == place + 1
                assert found.words == words(drafts[place], field)
            assert await seqs(store, "zebra", fields=Field.TEXT | Field.TOOL_RESULTS) == [1, 3]
            assert await seqs(store, "zebra", fields=Field.TOOL_CALLS | Field.MEDIA) == [2, 4]
            dated = await store.word_candidates(TENANT, ALICE, WordQuery((date,), Field.MEDIA))
            assert len(dated.found) == dated.frequencies[date] == 4

    @pytest.mark.parametrize(
        "scope", [ref(), ALICE, UserScope("alice", "shop"), SHOP], ids=["session", "user", "user-app", "app"]
    )
    async def test_every_condition_applies_together_with_the_terms(self, store: Store, scope: EventScope) -> None:
        await say(
            store,
            draft("apple pie", time=1),
            draft("apple tart", time=2, role=Role.ASSISTANT, author="chef", author_role="cook"),
            draft("banana pie", time=3, role=Role.ASSISTANT, branch="kitchen", event_id="third"),
            draft("apple banana", time=4, synthetic=True),
        )
        await compact(store, ["third"])
        nobody = Authors()
        pairs = [
            (ALL, [1, 2, 3, 4]),
            (EventFilter(from_time=2), [2, 3, 4]),
            (EventFilter(to_time=2), [1, 2]),
            (EventFilter(exclude_synthetic=True), [1, 2, 3]),
            (EventFilter(exclude_archived=True), [1, 2, 4]),
            (EventFilter(roles=frozenset({Role.ASSISTANT})), [2, 3]),
            (EventFilter(branch="hall"), [1, 2, 4]),
            (EventFilter(after_seq=1, before_seq=4), [2, 3]),
            (EventFilter(authors=(AuthorStep(True, Authors(roles=frozenset({"cook"}))),)), [2]),
            (EventFilter(authors=(AuthorStep(False, Authors(frozenset({"chef"}))),)), [1, 3, 4]),
            (EventFilter(authors=(AuthorStep(True, nobody),)), []),
            (EventFilter(authors=(AuthorStep(False, nobody),)), [1, 2, 3, 4]),
            (EventFilter(keyword="PIE"), [1, 3]),
            (EventFilter(keywords=("pie", "banana")), [1, 3, 4]),
            (EventFilter(keywords=("pie", "banana"), match_all=True), [3]),
            (EventFilter(keyword="pie", from_time=2), [3]),
        ]
        async for _ in twice(store):
            for wanted, expected in (*pairs, *reversed(pairs)):
                found = await ask(store, "apple banana", scope, wanted)
                assert sorted(each.position >> 20 for each in found.found) == expected, wanted
                assert found.complete
                assert sorted(found.frequencies.values()) == [2, 3], "of the scope, whatever the filter"

    async def test_other_events_are_candidates_without_a_term_if_they_match(self, store: Store) -> None:
        drafts = [draft("apple pie", time=1), draft("banana", time=2), draft("cherry", time=3), draft("date", time=4)]
        await say(store, *drafts)
        async for _ in twice(store):
            every = await ask(store, "apple banana cherry date")
            keys = {each.position >> 20: each.key for each in every.found}
            wanted = WordQuery(("appl",), limit=1, also=(keys[1], keys[2], keys[4], 1 << 40))
            found = await store.word_candidates(TENANT, ALICE, wanted, EventFilter(to_time=3))
            assert {each.position >> 20: each.words for each in found.found} == {
                n: words(drafts[n - 1], ALL_FIELDS) for n in (1, 2)
            }
            assert found.complete

    async def test_windows_are_not_for_candidates(self, store: Store) -> None:
        await say(store, *(draft("zebra") for _ in range(5)))
        assert await seqs(store, "zebra", ALICE, EventFilter(page=1, page_size=2)) == [1, 2, 3, 4, 5]

    @pytest.mark.parametrize(
        ("question", "text"),
        [
            ("漢字", "これは漢字です"),
            ("한국", "대한국민"),
            ("แมว", "เลี้ยงแมวไว้"),
            ("Straße", "HAUPTSTRASSE straße"),
            ("кот", "Кот"),
        ],
    )
    async def test_terms_of_every_script_are_found(self, store: Store, question: str, text: str) -> None:
        await say(store, draft(text), draft("else"))
        async for _ in twice(store):
            assert await seqs(store, question) == [1]

    @pytest.mark.parametrize(
        "text",
        ['say "zebra"', "NOT zebra", "zebra AND lion", "NEAR(zebra)", "zebra*", "text:zebra", "{text}:zebra", "a'zebra'\\"],
    )
    async def test_characters_special_to_engines_are_literal(self, store: Store, text: str) -> None:
        await say(store, draft(text), draft("zebr"), draft("not and near"))
        async for _ in twice(store):
            assert await seqs(store, "zebra") == [1]
            assert 1 in await seqs(store, text)

    async def test_terms_that_no_text_has_are_no_error(self, store: Store) -> None:
        """A store does not rely on the form of terms."""
        await say(store, draft("zebra lion"), draft("giraffe"))
        odd = [
            '"',
            "'",
            "''",
            "\\",
            "*",
            "zebra*",
            ":",
            "a:b",
            'zebra" OR "lion',
            "zebra' | 'lion",
            "zebra\\' | lion",
            "(",
            "~",
            "^x",
        ]
        odd += [
            "~s1",
            "~u",
            "-",
            "{text}",
            "NEAR",
            "ZEBRA",
            "\x01",
            "\x00",
            "z" * 70,
            "字" * 5000,
            "🦀",
            "\U0010ffff",
            "\u200b",
        ]
        async for _ in twice(store):
            assert await store.word_candidates(TENANT, ALICE, WordQuery(tuple(odd))) == Candidates([], 2)
            found = await store.word_candidates(TENANT, ALICE, WordQuery((*odd, *terms("zebra"))))
            assert len(found.found) == 1
            assert set(found.frequencies) == set(terms("zebra"))

    async def test_a_document_with_very_many_terms_is_found_by_each_of_them(self, store: Store) -> None:
        many = list(map("".join, product("bcdfgklmnp", repeat=4)))
        await say(store, draft("zebra"), draft(" ".join(many)))
        async for _ in twice(store):
            for word in (many[0], many[5_000], many[-1]):
                assert await seqs(store, word) == [2]
        await store.delete_session(TENANT, ref())
        async for _ in twice(store):
            assert await seqs(store, many[0]) == []

    async def test_many_terms_at_once(self, store: Store) -> None:
        many = list(map("".join, product("bcdfgklmnp", repeat=3)))
        await say(store, *(draft(word) for word in many[:50]))
        async for _ in twice(store):
            assert await seqs(store, " ".join(many[::2])) == list(range(1, 51, 2))

    async def test_a_repeated_term_counts_once(self, store: Store) -> None:
        await say(store, draft("zebra zebra"), draft("zebra"))
        async for _ in twice(store):
            found = await ask(store, "zebra zebra")
            assert (len(found.found), list(found.frequencies.values())) == (2, [2])


class CandidateChangeRows:
    """What happens to logs."""

    async def test_everything_committed_before_the_call_is_searched(self, store: Store) -> None:
        await create(store)
        for number in range(30):
            await append(store, draft(f"zebra {number}"))
            found = await ask(store, "zebra")
            assert len(found.found) == found.documents == number + 1

    async def test_inserted_and_archived_events_are_found(self, store: Store) -> None:
        await say(store, draft("zebra one", event_id="one"), draft("zebra two", event_id="two"))
        await compact(store, ["one"], placed("two", draft("a zebra summary", synthetic=True)))
        async for _ in twice(store):
            assert await said_in(store, "zebra", ref()) == ["a zebra summary", "zebra one", "zebra two"]
            assert (await ask(store, "zebra")).documents == 3
            real = await ask(store, "zebra", ALICE, EventFilter(exclude_synthetic=True, exclude_archived=True))
            assert [each.words.split()[:2] for each in real.found] == [list(terms("zebra two"))]

    async def test_deleted_events_are_not_found_even_if_the_session_id_is_used_again(self, store: Store) -> None:
        await session_with(store, draft("old zebra"))
        await caught_up(store)
        (old,) = (await ask(store, "zebra")).found
        await store.delete_session(TENANT, ref())
        await session_with(store, draft("new zebra"))
        async for _ in twice(store):
            for scope in (ref(), ALICE, SHOP):
                assert await said_in(store, "zebra", scope) == ["new zebra"]
                assert await store.events_by_key(TENANT, scope, [old.key]) == []
        assert list((await ask(store, "zebra")).frequencies.values()) == [1]

    async def test_deleted_sessions_leave_the_counts_of_the_others_as_they_are(self, store: Store) -> None:
        for name in ("s1", "s2", "s3"):
            await session_with(store, draft(f"zebra lion {name}"), draft("lion"), session_id=name)
        await caught_up(store)
        await store.delete_session(TENANT, ref("s2"))
        await caught_up(store)
        found = await ask(store, "zebra lion")
        assert (len(found.found), found.documents, sorted(found.frequencies.values())) == (4, 4, [2, 4])

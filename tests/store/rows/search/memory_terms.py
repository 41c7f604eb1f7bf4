"""Candidates among memories: which entries have the words of a question."""

from __future__ import annotations

import pytest

from tests.support.clock import NOW
from tests.support.codec import CODEC
from tests.support.memories import ALICE, candidates, forget, found, memory, remember, remembered
from tests.support.sessions import TENANT
from threadkeep.v1 import message_pb2
from threadkeep_server.domain.memories import MemoryFilter
from threadkeep_server.domain.model import POSITION_STEP
from threadkeep_server.domain.search import Candidates, Field, WordQuery
from threadkeep_server.store.contract.search import most_counted
from threadkeep_server.store.contract.store import Store
from threadkeep_server.store.contract.terms import memory_place

CALL = message_pb2.Part(tool_call=message_pb2.ToolCallPart(id="c", name="find", arguments_json='{"q": "harbor"}'))
RESULT = message_pb2.Part(tool_result=message_pb2.ToolResultPart(call_id="c", name="find", structured_json='["quay"]'))
MEDIA = message_pb2.Part(media=message_pb2.MediaPart(name="map pdf"))


def counts(reported: Candidates) -> dict[str, int]:
    return dict(reported.frequencies)


class MemoryCandidateRows:
    async def test_entries_with_any_term_are_candidates_and_all_are_counted(self, store: Store) -> None:
        await remember(
            store,
            memory("red shoes", author="Ann", event_time=NOW - 7),
            memory("red wool red"),
            memory("green grass"),
        )
        reported = await candidates(store, "red", "wool", "blue", "red")
        assert (reported.documents, counts(reported), reported.complete) == (3, {"red": 2, "wool": 1}, True)
        _, wool, shoes = await remembered(store)
        by_key = {each.key: each for each in reported.found}
        assert by_key.keys() == {wool.key, shoes.key}
        for memory_, each in ((wool, by_key[wool.key]), (shoes, by_key[shoes.key])):
            assert (each.session, each.position) == memory_place(memory_.key, "")
            assert each.role == 0
            assert (each.time, each.author) == (memory_.time, memory_.draft.author)
            words = CODEC.memory_words(memory_.draft.content, memory_.time, memory_.draft.author)
            assert [line.split() for line in each.words.split("\n")] == [list(field) for field in words]

    async def test_other_entries_are_candidates_without_a_term(self, store: Store) -> None:
        await remember(store, memory("red shoes"), memory("green grass"), memory("blue sky"))
        sky, grass, shoes = await remembered(store)
        for terms in (("red",), ()):
            wanted = WordQuery(terms, also=(grass.key, shoes.key, 1 << 40))
            reported = await store.memory_candidates(TENANT, ALICE, wanted)
            assert {each.key for each in reported.found} == {grass.key, shoes.key}
            assert (counts(reported), reported.complete) == (dict.fromkeys(terms, 1), True)
        assert sky.key not in {each.key for each in reported.found}

    async def test_entries_of_one_session_are_neighbors(self, store: Store) -> None:
        await remember(store, *(memory(f"red {n}", session_id=of, event_id=str(n)) for n, of in enumerate("aabb")))
        places = [(each.session, each.position) for each in sorted((await candidates(store, "red")).found, key=lambda c: c.key)]
        assert len({session for session, _ in places}) == 2
        assert places[0][0] == places[1][0]
        assert places[1][1] - places[0][1] == POSITION_STEP

    async def test_without_terms_there_is_nothing(self, store: Store) -> None:
        reported = await candidates(store, "red")
        assert (list(reported.found), reported.documents, counts(reported), reported.complete) == ([], 1, {}, True)
        await remember(store, memory("red"))
        reported = await candidates(store)
        assert (list(reported.found), reported.documents, counts(reported), reported.complete) == ([], 1, {}, True)

    @pytest.mark.parametrize(
        ("fields", "terms"),
        [
            (Field.TEXT, {"shoe"}),
            (Field.TOOL_CALLS, {"find", "harbor"}),
            (Field.TOOL_RESULTS, {"find", "quay"}),
            (Field.MEDIA, {"map"}),
            (Field.TEXT | Field.MEDIA, {"shoe", "map"}),
        ],
    )
    async def test_terms_are_searched_in_the_selected_fields(self, store: Store, fields: Field, terms: set[str]) -> None:
        await remember(store, memory("shoe", parts=(CALL, RESULT, MEDIA)))
        sought = [*CODEC.memory_words(memory("shoe", parts=(CALL, RESULT, MEDIA)).content, NOW)]
        spelled = {term for field in sought for term in field}
        for term in ("shoe", "find", "harbor", "quay", "map"):
            assert term in spelled
            reported = await candidates(store, term, fields=fields)
            assert counts(reported) == ({term: 1} if term in terms else {})
            for each in reported.found:
                lines = each.words.split("\n")
                assert len(lines) == 5
                wanted = [Field.TEXT in fields, Field.TOOL_CALLS in fields, Field.TOOL_RESULTS in fields, Field.MEDIA in fields]
                assert [bool(line) for line in lines[:4]] == wanted

    async def test_dates_are_searched_for_any_fields(self, store: Store) -> None:
        await remember(store, memory("shoe"))
        dates = CODEC.memory_words(memory("shoe").content, NOW).dates
        assert dates
        for date in dates:
            assert len((await candidates(store, date, fields=Field.MEDIA)).found) == 1

    @pytest.mark.parametrize("text", ["Straße", "東京タワー", "привет мир", "user@example.com", "𞤀𞤣𞤤𞤢𞤥", "x" * 300])
    async def test_a_text_is_found_by_each_of_its_terms(self, store: Store, text: str) -> None:
        await remember(store, memory(text), memory("else"))
        for term in {*CODEC.memory_words(memory(text).content, NOW).text}:
            assert await found(store, term) == {text}

    async def test_beyond_the_limit_those_with_the_rarest_terms_are_returned(self, store: Store) -> None:
        texts = [f"common {'rare' if number in (3, 5) else 'x'}" for number in range(20)]
        await remember(store, *(memory(text) for text in texts))
        reported = await candidates(store, "common", "rare", limit=4)
        assert (len(reported.found), reported.complete) == (4, False)
        assert counts(reported) == {"common": 20, "rare": 2}
        assert sum("rare" in each.words.split() for each in reported.found) == 2
        exact = await candidates(store, "common", limit=20)
        assert (len(exact.found), exact.complete) == (20, True)

    async def test_a_filter_with_few_matches_finds_them_among_many_events_with_the_term(self, store: Store) -> None:
        """More have the term than are counted."""
        total = most_counted(1, 3) + 200
        assert most_counted(total, 3) < total
        few = {number: memory(f"common {number}", author="Ann", metadata={"n": number}) for number in (0, 1, total // 2)}
        await remember(store, *(few.get(number) or memory(f"common {number}", author="Bob") for number in range(total)))
        ann = MemoryFilter(authors=frozenset(("Ann",)))
        reported = await candidates(store, "common", wanted=ann, limit=3)
        assert (len(reported.found), reported.complete) == (3, True)
        assert counts(reported) == {"common": most_counted(total, 3)}
        assert await found(store, "common", wanted=MemoryFilter(metadata={"n": "1"})) == {"common 1"}
        reported = await candidates(store, "common", wanted=ann, limit=2)
        assert (len(reported.found), reported.complete) == (2, False)

    async def test_deleted_entries_are_not_counted(self, store: Store) -> None:
        await remember(store, memory("red", id="a"), memory("red"))
        await forget(store, names=["a"])
        reported = await candidates(store, "red")
        assert (reported.documents, counts(reported)) == (1, {"red": 1})

    async def test_a_long_entry_is_found_by_all_of_its_words(self, store: Store) -> None:
        words = [f"w{number:05}" for number in range(30_000)]
        await remember(store, memory(" ".join(words)))
        reported = await candidates(store, words[0], words[15_000], words[-1])
        assert counts(reported) == {words[0]: 1, words[15_000]: 1, words[-1]: 1}
        assert len(reported.found) == 1

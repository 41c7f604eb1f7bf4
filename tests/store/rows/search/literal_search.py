"""Searching a session and a user's sessions."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.support.codec import draft, parse, texts
from tests.support.sessions import TENANT, append, create, ref, search, search_in_pages, session_with
from threadkeep.v1 import message_pb2
from threadkeep_server.domain.filters import Authors, AuthorStep, EventFilter
from threadkeep_server.domain.model import EventDraft, Role
from threadkeep_server.domain.scopes import UserScope
from threadkeep_server.store.contract.search import SearchHit, SearchQuery
from threadkeep_server.store.contract.store import Store

ALICE = UserScope("alice")


def said(hits: Sequence[SearchHit]) -> list[str]:
    return texts(hit.event for hit in hits)


async def say(store: Store, *drafts: EventDraft) -> None:
    await create(store)
    await append(store, *drafts)


class TextRows:
    """Literal substring after case folding, the same on every engine."""

    @pytest.mark.parametrize(
        ("keyword", "text"),
        [
            ("ÄPFEL", "grüne äpfel"),
            ("äpfel", "GRÜNE ÄPFEL"),
            ("strasse", "Hauptstraße 1"),
            ("HAUPTSTRASSE", "hauptstraße"),
            ("ß", "MASSE"),
            ("SS", "groß"),
            ("ΟΔΟΣ", "οδος"),
            ("ς", "Σ"),
            ("İ", "i̇stanbul"),
            ("İSTANBUL", "İstanbul"),
            ("ﬁ", "FIne"),
            ("привет", "ПРИВЕТ"),
        ],
    )
    async def test_case_folds_in_every_script(self, store: Store, keyword: str, text: str) -> None:
        await say(store, draft(text), draft("other"))
        assert said(await search(store, keyword)) == [text]
        assert said(await search(store, keyword, ALICE)) == [text]

    @pytest.mark.parametrize(("keyword", "text"), [("ı", "i"), ("e", "\u0301"), ("é", "e\u0301"), ("ｆ", "f"), ("①", "1")])
    async def test_searched_text_is_not_normalized(self, store: Store, keyword: str, text: str) -> None:
        await say(store, draft(text), draft(keyword))
        assert said(await search(store, keyword)) == [keyword]

    @pytest.mark.parametrize("keyword", ["a", "%", "_", "'", '"', "\\", "/", "🦀", "字", "\u0301", "\x00", "*", "-", "?", ";"])
    async def test_one_character_is_enough_and_is_literal(self, store: Store, keyword: str) -> None:
        text = f"<{keyword}>"
        await say(store, draft(text), draft("bcd"), draft(""))
        assert said(await search(store, keyword)) == [text]
        assert said(await search(store, keyword, ALICE)) == [text]

    @pytest.mark.parametrize(
        "keyword",
        [
            "o'clock",
            'say "hi"',
            "c:\\temp\\new",
            "two\nlines",
            "👩‍👩‍👧 fam",
            "a\x00b",
            "50%",
            "_case",
            "NOT x",
            "a OR b",
            "x*",
            "(",
            "col:y",
            "^a",
        ],
    )
    async def test_special_characters_are_literal(self, store: Store, keyword: str) -> None:
        decoys = ["oclock", "say hi", "c:temp", "two lines", "👩 fam", "ab", "5000", "snakeXcase", "x", "a", "b", "y"]
        await say(store, *(draft(text) for text in (*decoys, f"before {keyword} after")))
        assert said(await search(store, keyword)) == [f"before {keyword} after"]
        assert said(await search(store, keyword, ALICE)) == [f"before {keyword} after"]

    @pytest.mark.parametrize(
        ("keyword", "text"), [("漢字", "これは漢字です"), ("是漢", "這是漢字"), ("한국", "대한국민"), ("แมว", "เลี้ยงแมวไว้")]
    )
    async def test_scripts_without_spaces_are_searched_like_any_other(self, store: Store, keyword: str, text: str) -> None:
        await say(store, draft(text), draft("else"))
        assert said(await search(store, keyword)) == [text]
        assert said(await search(store, keyword, ALICE)) == [text]

    async def test_a_nul_is_found_by_nul_and_by_its_replacement(self, store: Store) -> None:
        await say(store, draft("a\x00b"), draft("a\ufffdb"), draft("ab"))
        assert said(await search(store, "a\x00B")) == ["a\x00b", "a\ufffdb"]
        assert said(await search(store, "\ufffd", ALICE)) == ["a\x00b", "a\ufffdb"]

    async def test_text_parts_are_joined_by_a_line_feed_and_nothing_else_is_searched(self, store: Store) -> None:
        sent = draft("one", author="needle", metadata_json='"needle"', event_id="needle", branch="needle", role=Role.ASSISTANT)
        two = message_pb2.Part(text="two")
        await say(store, sent, draft("one", parts=[two]))
        assert len(await search(store, "one\ntwo")) == 1
        assert await search(store, "needle") == []
        assert await search(store, "onetwo") == []

    async def test_blanks_at_the_ends_of_a_keyword_count(self, store: Store) -> None:
        await say(store, draft("a cat"), draft("cats"), draft("cat"))
        assert said(await search(store, " cat")) == ["a cat"]

    async def test_long_texts_and_keywords(self, store: Store) -> None:
        long = "x" * 200_000 + "NEEDLE" + "y" * 200_000
        await say(store, draft(long), draft("needl"))
        assert said(await search(store, "needle")) == [long]
        assert said(await search(store, ("x" * 500) + "needle" + ("y" * 500), ALICE)) == [long]


class SearchRows:
    async def test_hits_of_a_session_are_in_window_order_for_any_times(self, store: Store) -> None:
        await say(store, draft("hit c", time=30), draft("miss", time=1), draft("hit a", time=10), draft("hit b", time=20))
        assert said(await search(store, "hit")) == ["hit c", "hit a", "hit b"]
        assert {hit.ref for hit in await search(store, "hit")} == {ref()}

    async def test_hits_of_a_user_are_ordered_by_time_session_and_position(self, store: Store) -> None:
        await create(store, "s1")
        await create(store, "s2")
        for session, text, time in (
            ("s2", "hit 3", 20),
            ("s1", "hit 2", 20),
            ("s1", "hit 1", 10),
            ("s2", "hit 4", 20),
            ("s2", "hit 0", -5),
            ("s1", "hit 5", 21),
            ("s1", "miss", 15),
        ):
            await append(store, draft(text, time=time), to=ref(session))
        hits = await search(store, "hit", ALICE)
        assert said(hits) == ["hit 0", "hit 1", "hit 2", "hit 3", "hit 4", "hit 5"]
        assert [hit.ref.session_id for hit in hits] == ["s2", "s1", "s1", "s2", "s2", "s1"]
        assert [hit.event.seq for hit in hits] == [3, 2, 1, 1, 2, 3]

    async def test_events_of_another_user_are_not_found(self, store: Store) -> None:
        await session_with(store, draft("hit alice"))
        await session_with(store, draft("hit bob"), user="bob")
        assert said(await search(store, "hit", ALICE)) == ["hit alice"]
        assert said(await search(store, "hit", UserScope("bob"))) == ["hit bob"]
        assert await search(store, "hit", UserScope("carol")) == []
        assert await search(store, "hit", UserScope("ALICE")) == []
        assert await search(store, "hit", UserScope("%")) == []

    async def test_a_users_search_can_be_bound_to_an_app(self, store: Store) -> None:
        for app in ("shop", "", "other"):
            await session_with(store, draft(f"hit {app}"), app=app)
        assert said(await search(store, "hit", UserScope("alice", "shop"))) == ["hit shop"]
        assert said(await search(store, "hit", UserScope("alice", ""))) == ["hit "]
        assert sorted(said(await search(store, "hit", ALICE))) == ["hit ", "hit other", "hit shop"]

    async def test_a_user_without_sessions_gets_nothing(self, store: Store) -> None:
        page = await store.search(TENANT, SearchQuery(ALICE, EventFilter(keyword="x")))
        assert (list(page.hits), page.cursor) == ([], None)

    @pytest.mark.parametrize("scope", [ref(), ALICE], ids=["session", "user"])
    async def test_every_condition_applies_together_with_the_text(self, store: Store, scope: object) -> None:
        await say(
            store,
            draft("apple pie", time=1),
            draft("apple tart", time=2, role=Role.ASSISTANT, author="chef", author_role="cook"),
            draft("banana pie", time=3, role=Role.ASSISTANT, branch="kitchen"),
            draft("apple banana", time=4, synthetic=True),
        )

        async def found(**fields: object) -> list[str]:
            return said(await search(store, EventFilter(**fields), scope))  # type: ignore[arg-type]

        assert await found(keywords=("apple", "banana")) == ["apple pie", "apple tart", "banana pie", "apple banana"]
        assert await found(keywords=("apple", "banana"), match_all=True) == ["apple banana"]
        assert await found(keyword="pie", keywords=("apple", "tart")) == ["apple pie"]
        assert await found(keyword="apple", from_time=2) == ["apple tart", "apple banana"]
        assert await found(keyword="apple", to_time=2) == ["apple pie", "apple tart"]
        assert await found(keyword="apple", exclude_synthetic=True) == ["apple pie", "apple tart"]
        assert await found(keyword="p", roles=frozenset({Role.ASSISTANT})) == ["apple tart", "banana pie"]
        assert await found(keyword="p", branch="hall") == ["apple pie", "apple tart", "apple banana"]
        assert await found(keyword="p", after_seq=1, before_seq=4) == ["apple tart", "banana pie"]
        assert await found(keyword="p", authors=(AuthorStep(True, Authors(roles=frozenset({"cook"}))),)) == ["apple tart"]
        assert await found(keyword="p", exclude_archived=True) == ["apple pie", "apple tart", "banana pie", "apple banana"]

    @pytest.mark.parametrize("scope", [ref(), ALICE, UserScope("alice", "shop")], ids=["session", "user", "app"])
    async def test_similar_filters_have_separate_results(self, store: Store, scope: object) -> None:
        """A query must not affect the next one: a store may cache the statement of the first."""
        await say(
            store,
            draft("apple pie", author="chef", author_role="cook"),
            draft("apple tart", role=Role.ASSISTANT),
            draft("cherry pie", author="guest"),
        )
        nobody, chef, cooks = Authors(), Authors(frozenset({"chef"})), Authors(roles=frozenset({"cook"}))
        pairs: list[tuple[dict[str, object], list[str]]] = [
            ({"keyword": "p"}, ["apple pie", "apple tart", "cherry pie"]),
            ({"keyword": "p", "authors": (AuthorStep(True, nobody),)}, []),
            ({"keyword": "p", "authors": (AuthorStep(False, nobody),)}, ["apple pie", "apple tart", "cherry pie"]),
            ({"keyword": "p", "authors": (AuthorStep(True, chef),)}, ["apple pie"]),
            ({"keyword": "p", "authors": (AuthorStep(False, chef),)}, ["apple tart", "cherry pie"]),
            ({"keyword": "p", "authors": (AuthorStep(True, cooks),)}, ["apple pie"]),
            ({"keyword": "p", "authors": (AuthorStep(False, cooks),)}, ["apple tart", "cherry pie"]),
            ({"keyword": "apple"}, ["apple pie", "apple tart"]),
            ({"keywords": ("apple",)}, ["apple pie", "apple tart"]),
            ({"keywords": ("apple", "pie")}, ["apple pie", "apple tart", "cherry pie"]),
            ({"keywords": ("apple", "pie"), "match_all": True}, ["apple pie"]),
            ({"keyword": "apple", "keywords": ("pie",)}, ["apple pie"]),
            ({"keywords": ("apple", "ch")}, ["apple pie", "apple tart", "cherry pie"]),
            ({"keywords": ("apple", "ch"), "match_all": True}, []),
            ({"keyword": "pie", "after_seq": 1}, ["cherry pie"]),
            ({"keyword": "pie", "before_seq": 3}, ["apple pie"]),
            ({"keyword": "pie", "roles": frozenset({Role.ASSISTANT})}, []),
            ({"keyword": "pie", "roles": frozenset({Role.ASSISTANT, Role.USER})}, ["apple pie", "cherry pie"]),
        ]
        for fields, expected in (*pairs, *reversed(pairs)):
            assert said(await search(store, EventFilter(**fields), scope)) == expected, fields  # type: ignore[arg-type]

    async def test_everything_committed_before_the_call_is_searched(self, store: Store) -> None:
        await create(store)
        for number in range(30):
            await append(store, draft(f"needle {number}"))
            assert len(await search(store, "needle", ALICE)) == number + 1

    async def test_deleted_events_are_not_found_even_if_the_id_is_used_again(self, store: Store) -> None:
        await session_with(store, draft("old needle"))
        assert len(await search(store, "needle", ALICE)) == 1
        await store.delete_session(TENANT, ref())
        await session_with(store, draft("new needle"))
        assert said(await search(store, "needle", ALICE)) == ["new needle"]
        assert said(await search(store, "needle")) == ["new needle"]


class SearchPagingRows:
    @pytest.mark.parametrize("scope", [ref(), ALICE], ids=["session", "user"])
    @pytest.mark.parametrize("limit", [1, 2, 3, 6, 7])
    async def test_hits_follow_page_by_page_without_gap_or_overlap(self, store: Store, scope: object, limit: int) -> None:
        await say(store, *(draft(f"{'hit' if n % 2 else 'miss'} {n}", time=7) for n in range(12)))
        pages = await search_in_pages(store, EventFilter(keyword="hit"), scope, limit=limit)  # type: ignore[arg-type]
        assert [text for page in pages for text in said(page)] == [f"hit {n}" for n in range(1, 12, 2)]
        assert [len(page) for page in pages] == [limit] * (6 // limit) + ([6 % limit] if 6 % limit else [])

    async def test_pages_of_a_user_continue_across_sessions_and_equal_times(self, store: Store) -> None:
        for number in range(4):
            await create(store, f"s{number}")
        for turn in range(3):
            for number in (2, 0, 3, 1):
                await append(store, draft(f"hit {turn} s{number}", time=100 - turn // 2), to=ref(f"s{number}"))
        whole = await search(store, "hit", ALICE)
        assert len(whole) == 12
        for limit in (1, 4, 5, 11):
            pages = await search_in_pages(store, EventFilter(keyword="hit"), ALICE, limit=limit)
            assert [hit for page in pages for hit in page] == whole

    async def test_numbered_pages(self, store: Store) -> None:
        await create(store, "s1")
        await create(store, "s2")
        for number in range(12):
            await append(store, draft(f"hit {number:02}", time=number), to=ref(f"s{1 + number % 2}"))
        for page, numbers in ((0, range(10)), (1, range(10, 12)), (2, range(0)), (2**31 - 1, range(0))):
            hits = await search(store, EventFilter(keyword="hit", page=page, page_size=10), ALICE)
            assert said(hits) == [f"hit {number:02}" for number in numbers]
        hits = await search(store, EventFilter(keyword="hit", page=1, page_size=2), ref("s1"))
        assert said(hits) == ["hit 04", "hit 06"]

    @pytest.mark.parametrize("scope", [ref(), ALICE], ids=["session", "user"])
    async def test_pages_of_hits_stay_within_their_bytes_but_hold_at_least_one(self, store: Store, scope: object) -> None:
        await say(store, *(draft(f"hit {n} " + "x" * size) for n, size in enumerate((10, 3000, 10, 10, 700, 700, 3000, 10))))
        whole = await search(store, "hit", scope)  # type: ignore[arg-type]
        assert len(whole) == 8
        for max_bytes in (1, 500, 1000, 4000, 1 << 40):
            pages = await search_in_pages(store, EventFilter(keyword="hit"), scope, max_bytes=max_bytes)  # type: ignore[arg-type]
            assert [hit for page in pages for hit in page] == whole
            assert all(len(page) == 1 or sum(parse(hit.event).size_bytes for hit in page) <= max_bytes for page in pages)

    async def test_many_hits_are_all_found(self, store: Store) -> None:
        await create(store, "s1")
        await create(store, "s2")
        for part in range(4):
            for session in ("s1", "s2"):
                batch = (draft(f"needle {part} {n}" if n % 3 else f"hay {part} {n}", time=part) for n in range(200))
                await append(store, *batch, to=ref(session))
        pages = await search_in_pages(store, EventFilter(keyword="needle"), ALICE, limit=100)
        hits = [hit for page in pages for hit in page]
        assert len(hits) == len({(hit.ref, hit.event.seq) for hit in hits}) == 2 * 4 * 133
        assert len(await search(store, "NEEDLE 3", ref("s2"))) == 133

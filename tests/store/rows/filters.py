"""Filters over a stored log: the cases of tests/unit/domain for `select`, run on a store."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.codec import draft, texts
from tests.support.sessions import TENANT, append, create, read, search, session_with
from threadkeep_server.domain.filters import ALL, Authors, AuthorStep, EventFilter
from threadkeep_server.domain.model import EventDraft, Role
from threadkeep_server.domain.scopes import UserScope
from threadkeep_server.domain.search import WordQuery
from threadkeep_server.domain.validation import MAX_AUTHORS, MAX_BRANCH_SEGMENTS, MAX_TERMS
from threadkeep_server.store.contract.store import Store


async def found(store: Store, wanted: EventFilter) -> list[str]:
    return texts(await read(store, wanted))


async def log(store: Store, *drafts: EventDraft) -> None:
    await create(store)
    await append(store, *drafts)


def assistant(text: str, **fields: object) -> EventDraft:
    return draft(text, role=Role.ASSISTANT, **fields)


# What the bounds of a filter admit.
_MANY = [f"agent {n} ü" for n in range(MAX_AUTHORS - 1)]
_LARGEST: list[dict[str, Any]] = [
    {"authors": (AuthorStep(True, Authors(frozenset([*_MANY, "bot"]))),)},
    {"authors": (AuthorStep(True, Authors(roles=frozenset([*_MANY, "bot's role"]))),)},
    {"authors": (AuthorStep(False, Authors(frozenset(_MANY))),)},
    {"authors": (AuthorStep(False, Authors(roles=frozenset(_MANY))),)},
    {"keywords": ("hello", *(f"word {n}" for n in range(1, MAX_TERMS)))},
    {"branch": ".".join("b" * MAX_BRANCH_SEGMENTS)},
]


class FilterRows:
    async def test_the_largest_filters_are_answered(self, store: Store) -> None:
        own = {"author": "bot", "author_role": "bot's role"}
        await log(store, draft("hello", **own), draft("other", author="someone", author_role="x", branch="other"))
        every = {name: value for each in _LARGEST for name, value in each.items() if name != "authors"}
        for wanted in [*_LARGEST, every | _LARGEST[0]]:
            said = ["hello", "other"] if wanted in _LARGEST[2:4] else ["hello"]
            assert await found(store, EventFilter(**wanted)) == said
            hits = await search(store, EventFilter(keyword="o", **wanted), UserScope("alice"))
            assert texts(hit.event for hit in hits) == said
            ranked = await store.word_candidates(
                TENANT, UserScope("alice"), WordQuery(("hello", "other")), EventFilter(**wanted)
            )
            assert len(ranked.found) == len(said)

    async def test_a_keyword_is_found_in_order_in_any_case(self, store: Store) -> None:
        await log(store, draft("hello world"), draft("goodbye"), draft("Hello again"))
        for keyword in ("hello", "HELLO", "hElLo", "ello"):
            assert await found(store, EventFilter(keyword=keyword)) == ["hello world", "Hello again"]

    async def test_empty_texts_and_unknown_words_match_nothing(self, store: Store) -> None:
        await log(store, assistant(""), assistant("x"), draft(None, role=Role.ASSISTANT))
        assert await found(store, EventFilter(keyword="zebra")) == []
        assert await found(store, EventFilter(keywords=("zebra", "giraffe"))) == []

    async def test_numbered_pages_hold_exactly_their_members(self, store: Store) -> None:
        await log(store, *(draft(f"{word} {n}") for n in range(1, 8) for word in ("hit", "miss")))
        for page, numbers in enumerate(("123", "456", "7", "")):
            wanted = EventFilter(keyword="hit", page=page, page_size=3)
            assert await found(store, wanted) == [f"hit {n}" for n in numbers]
        assert await found(store, EventFilter(page=1, page_size=2)) == ["hit 2", "miss 2"]

    async def test_the_first_page_holds_the_oldest_matches(self, store: Store) -> None:
        await log(store, *(draft(f"{word} {n}") for n in range(1, 16) for word in ("hit", "miss")))
        assert await found(store, EventFilter(keyword="hit", page_size=10)) == [f"hit {n}" for n in range(1, 11)]

    async def test_any_and_all(self, store: Store) -> None:
        await log(store, draft("actually it's fine"), draft("use this instead"), draft("neither"), draft("actually, instead"))
        assert await found(store, EventFilter(keywords=("it's", "INSTEAD"))) == [
            "actually it's fine",
            "use this instead",
            "actually, instead",
        ]
        assert await found(store, EventFilter(keywords=("actually", "instead"), match_all=True)) == ["actually, instead"]
        assert await found(store, EventFilter(keyword="use", keywords=("actually", "instead"))) == ["use this instead"]

    async def test_the_newest_are_returned_in_order(self, store: Store) -> None:
        await log(store, *(draft(f"msg-{n}") for n in range(1, 6)))
        assert await found(store, EventFilter(last_n=2)) == ["msg-4", "msg-5"]
        assert texts(await read(store, EventFilter(last_n=2), descending=True)) == ["msg-5", "msg-4"]

    async def test_times_are_inclusive(self, store: Store) -> None:
        await log(store, *(draft(str(time), time=time) for time in (9, 10, 15, 20, 21)))
        assert await found(store, EventFilter(from_time=10, to_time=20)) == ["10", "15", "20"]
        assert await found(store, EventFilter(from_time=20, to_time=10)) == []

    async def test_seq_bounds_are_exclusive(self, store: Store) -> None:
        await log(store, *(draft(str(n)) for n in range(1, 6)))
        assert await found(store, EventFilter(after_seq=2)) == ["3", "4", "5"]
        assert await found(store, EventFilter(before_seq=4)) == ["1", "2", "3"]
        assert await found(store, EventFilter(after_seq=1, before_seq=3)) == ["2"]
        assert await found(store, EventFilter(after_seq=5)) == []
        assert await found(store, EventFilter(after_seq=2**62)) == []
        assert await found(store, EventFilter(before_seq=0)) == []
        assert len(await found(store, EventFilter(after_seq=-(2**62), before_seq=2**62))) == 5

    async def test_synthetic_events_can_be_left_out(self, store: Store) -> None:
        await log(store, draft("u"), assistant("a"), draft("u~", synthetic=True), assistant("a~", synthetic=True))
        assert await found(store, ALL) == ["u", "a", "u~", "a~"]
        assert await found(store, EventFilter(exclude_synthetic=True)) == ["u", "a"]

    async def test_without_compaction_the_active_view_is_everything(self, store: Store) -> None:
        """The tests of compaction cover archived events."""
        await log(store, draft("a"), assistant("b"))
        assert await found(store, EventFilter(exclude_archived=True)) == ["a", "b"]

    async def test_the_last_page_there_could_be_is_empty(self, store: Store) -> None:
        await log(store, draft("a"))
        for size in (10, 2**31 - 1):
            assert await found(store, EventFilter(page=2**31 - 1, page_size=size)) == []
        assert await found(store, EventFilter(page=0, page_size=2**31 - 1)) == ["a"]
        assert await found(store, EventFilter(last_n=2**31 - 1)) == ["a"]

    @pytest.mark.parametrize(
        ("keyword", "wanted"), [("100%", "100% done"), ("_case", "snake_case"), ("a!b", "a!b"), ("c:\\x", "C:\\x"), ("*", "*")]
    )
    async def test_keywords_are_literal(self, store: Store, keyword: str, wanted: str) -> None:
        await log(store, *(draft(text) for text in ("100% done", "1000 done", "snake_case", "camelcase", "a!b", "C:\\x", "*")))
        assert await found(store, EventFilter(keyword=keyword)) == [wanted]

    async def test_short_keywords_are_literal_in_both_modes(self, store: Store) -> None:
        await log(store, *(draft(text) for text in ("100% snake_case", "100%", "snake_case", "1000 snakescase")))
        assert await found(store, EventFilter(keywords=("0%", "e_c"))) == ["100% snake_case", "100%", "snake_case"]
        assert await found(store, EventFilter(keywords=("0%", "e_c"), match_all=True)) == ["100% snake_case"]

    @pytest.mark.parametrize(
        ("n", "wanted"), [(1, "u2 a2 b2"), (2, "u2 a2 b2"), (3, "u2 a2 b2"), (4, "u1 a1 u2 a2 b2"), (5, "u1 a1 u2 a2 b2")]
    )
    async def test_a_window_does_not_cut_a_turn(self, store: Store, n: int, wanted: str) -> None:
        await log(store, draft("u1"), assistant("a1"), draft("u2"), assistant("a2"), assistant("b2"))
        assert await found(store, EventFilter(last_n=n)) == wanted.split()

    async def test_the_turn_start_is_searched_among_the_matches(self, store: Store) -> None:
        await log(store, draft("u1", time=1), assistant("a1", time=2), draft("u2", time=99), assistant("a2", time=4))
        assert await found(store, EventFilter(last_n=1, to_time=50)) == ["u1", "a1", "a2"]
        assert await found(store, EventFilter(last_n=1, to_time=50, after_seq=1)) == ["a2"]

    async def test_text_searches_and_windows_without_a_turn_start_are_plain(self, store: Store) -> None:
        await log(store, assistant("p0"), assistant("p1"), draft("u1"), assistant("a1"), assistant("b1"))
        assert await found(store, EventFilter(last_n=1, keyword="1")) == ["b1"]
        assert await found(store, EventFilter(last_n=2, keywords=("1", "z"))) == ["a1", "b1"]
        assert await found(store, EventFilter(last_n=1, roles=frozenset({Role.ASSISTANT}))) == ["b1"]
        assert await found(store, EventFilter(last_n=1, before_seq=3)) == ["p1"]

    async def test_neither_synthetic_nor_branch_user_events_start_a_turn(self, store: Store) -> None:
        await log(
            store,
            draft("u"),
            draft("s", synthetic=True),
            assistant("a"),
            draft("b", branch="orch"),
            assistant("z", branch="orch"),
        )
        assert await found(store, EventFilter(last_n=1)) == ["u", "s", "a", "b", "z"]

    async def test_a_window_larger_than_the_matches_selects_them_all(self, store: Store) -> None:
        await log(store, assistant("p"), draft("u"), assistant("a"))
        assert await found(store, EventFilter(last_n=3)) == ["p", "u", "a"]
        assert await found(store, EventFilter(last_n=99, keyword="a")) == ["a"]

    async def test_roles_are_alternatives(self, store: Store) -> None:
        await log(store, draft("q"), assistant("a"), draft("q2"), draft("s", role=Role.SYSTEM), draft("t", role=Role.TOOL))
        assert await found(store, EventFilter(roles=frozenset({Role.USER}))) == ["q", "q2"]
        assert await found(store, EventFilter(roles=frozenset({Role.TOOL, Role.SYSTEM}))) == ["s", "t"]
        assert await found(store, EventFilter(roles=frozenset(Role))) == ["q", "a", "q2", "s", "t"]

    @pytest.mark.parametrize(
        ("steps", "wanted"),
        [
            (((True, "r1", ""),), "r1"),
            (((True, "", "researcher"),), "r1 r2"),
            (((True, "w1", "researcher"),), "r1 r2 w1"),
            (((False, "r1", ""),), "human r2 w1 x"),
            (((False, "", "researcher"),), "human w1 x"),
            (((True, "", "researcher"), (False, "r1", "")), "r2"),
            (((True, "r1", ""), (False, "r2", ""), (True, "r2 w1", "")), "r1 w1"),
            (((True, "R1", ""),), ""),
            (((True, "it's", ""),), ""),
        ],
    )
    async def test_author_steps(self, store: Store, steps: tuple[tuple[bool, str, str], ...], wanted: str) -> None:
        await log(
            store,
            draft("human"),
            assistant("r1", author="r1", author_role="researcher"),
            assistant("r2", author="r2", author_role="researcher"),
            assistant("w1", author="w1", author_role="writer"),
            assistant("x", author="researcher"),
        )
        authors = tuple(
            AuthorStep(include, Authors(frozenset(ids.split()), frozenset(roles.split()))) for include, ids, roles in steps
        )
        assert await found(store, EventFilter(authors=authors)) == wanted.split()

    async def test_no_role_is_not_the_empty_role(self, store: Store) -> None:
        await log(store, assistant("none"), assistant("some", author_role="r"), assistant("anonymous", author=""))
        without = AuthorStep(False, Authors(roles=frozenset({"", "r"})))
        assert await found(store, EventFilter(authors=(without,))) == ["none", "anonymous"]
        assert await found(store, EventFilter(authors=(AuthorStep(True, Authors(roles=frozenset({""}))),))) == []
        assert await found(store, EventFilter(authors=(AuthorStep(False, Authors(ids=frozenset({""}))),))) == []

    async def test_conditions_all_hold(self, store: Store) -> None:
        await log(
            store,
            draft("alpha", time=1),
            assistant("alpha", time=2, author="x"),
            assistant("beta", time=3, author="x"),
            assistant("ALPHA!", time=4, author="x", branch="b"),
            assistant("alpha!!", time=5, author="x", synthetic=True),
        )
        wanted = EventFilter(
            from_time=2,
            to_time=5,
            after_seq=1,
            roles=frozenset({Role.ASSISTANT}),
            authors=(AuthorStep(True, Authors(frozenset({"x"}))),),
            exclude_synthetic=True,
            keyword="alpha",
            keywords=("!", "p"),
            branch="b.c",
        )
        assert await found(store, wanted) == ["alpha", "ALPHA!"]


class BranchRows:
    async def test_a_branch_sees_the_root_its_ancestors_and_itself(self, store: Store) -> None:
        branches = ["", "orch", "orch.researcher", "orch.researcher.summarizer", "orch.writer", "orch.research", "orches"]
        await session_with(store, *(assistant(f"@{branch}", branch=branch) for branch in branches))
        for viewer, visible in {
            "": branches,
            "orch": ["", "orch"],
            "orch.researcher": ["", "orch", "orch.researcher"],
            "orch.researcher.summarizer": ["", "orch", "orch.researcher", "orch.researcher.summarizer"],
            "orch.research": ["", "orch", "orch.research"],
            "orch.nobody": ["", "orch"],
            "else": [""],
        }.items():
            assert await found(store, EventFilter(branch=viewer)) == [f"@{branch}" for branch in visible], viewer

    async def test_agents_of_one_session_each_see_their_part(self, store: Store) -> None:
        await log(
            store,
            draft("task"),
            assistant("r1", branch="orch.researcher"),
            assistant("w1", branch="orch.writer"),
            assistant("r2", branch="orch.researcher"),
            assistant("w2", branch="orch.writer"),
        )
        assert await found(store, EventFilter(branch="orch.researcher")) == ["task", "r1", "r2"]
        assert await found(store, EventFilter(branch="orch.writer")) == ["task", "w1", "w2"]

    async def test_synthetic_events_of_the_root_are_visible(self, store: Store) -> None:
        await log(store, assistant("summary", synthetic=True), assistant("other", synthetic=True, branch="orch.writer"))
        assert await found(store, EventFilter(branch="orch.researcher")) == ["summary"]

    async def test_branch_names_are_literal(self, store: Store) -> None:
        await log(store, *(assistant(branch, branch=branch) for branch in ("a%", "ab", "a_c", "abc", "A%", "it's")))
        for branch in ("a%", "a_c", "it's", "A%"):
            assert await found(store, EventFilter(branch=branch)) == [branch]
            assert await found(store, EventFilter(branch=branch + ".x")) == [branch]

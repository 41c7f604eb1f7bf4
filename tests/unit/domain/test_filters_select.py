"""The events that a filter selects. The store suite runs the same cases on every store."""

from __future__ import annotations

import pytest

from tests.unit.domain.filter_events import assistant, log, texts, user
from threadkeep_server.domain.filters import ALL, Authors, AuthorStep, EventFilter, matches, select
from threadkeep_server.domain.model import EventFacts, Role


def found(text: str, wanted: EventFilter) -> bool:
    return matches(assistant(text), wanted)


def including(*ids: str, roles: tuple[str, ...] = ()) -> AuthorStep:
    return AuthorStep(True, Authors(frozenset(ids), frozenset(roles)))


def excluding(*ids: str, roles: tuple[str, ...] = ()) -> AuthorStep:
    return AuthorStep(False, Authors(frozenset(ids), frozenset(roles)))


@pytest.mark.parametrize("keyword", ["spring ai", "AWESOME", "is"])
def test_a_keyword_matches_in_any_case(keyword: str) -> None:
    assert found("Spring AI is awesome", EventFilter(keyword=keyword))


def test_texts_without_the_keyword_do_not_match() -> None:
    assert not found("Spring AI is awesome", EventFilter(keyword="memory"))


@pytest.mark.parametrize("wanted", [EventFilter(keyword="a"), EventFilter(keywords=("a", "b"))])
def test_an_empty_text_matches_no_keyword(wanted: EventFilter) -> None:
    assert not found("", wanted)


def test_without_conditions_everything_matches() -> None:
    assert found("", ALL)
    assert found("anything", ALL)


def test_matches_come_in_order() -> None:
    events = log(user("I like Spring"), user("no"), user("spring again"), user("never"))
    assert texts(events, EventFilter(keyword="spring")) == ["I like Spring", "spring again"]


def test_case_does_not_matter_on_either_side() -> None:
    assert len(texts(log(user("Spring a"), user("spring b")), EventFilter(keyword="SPRING"))) == 2


def test_an_unknown_word_selects_nothing() -> None:
    assert texts(log(user("a"), user("b")), EventFilter(keyword="zebra")) == []


@pytest.mark.parametrize(("page", "entries"), [(0, "123"), (1, "456"), (2, "7"), (3, "")])
def test_pages_hold_exactly_their_members(page: int, entries: str) -> None:
    events = log(*(user(f"hit {n}") for n in range(1, 8)))
    assert texts(events, EventFilter(keyword="hit", page=page, page_size=3)) == [f"hit {n}" for n in entries]


def test_a_page_beyond_the_end_is_empty() -> None:
    assert texts(log(user("hit"), user("hit")), EventFilter(keyword="hit", page=5, page_size=10)) == []


def test_the_first_page_holds_the_oldest_ten() -> None:
    events = log(*(user(f"hit {n}") for n in range(1, 16)))
    assert texts(events, EventFilter(keyword="hit", page_size=10)) == [f"hit {n}" for n in range(1, 11)]


def test_conditions_come_before_the_window() -> None:
    events = log(*(user(f"{word} {n}") for n in range(5) for word in ("hit", "miss")))
    wanted = [f"hit {n}" for n in range(5)]
    assert texts(events, EventFilter(keyword="hit", page_size=5)) == wanted
    assert texts(events, EventFilter(keyword="hit", last_n=5)) == wanted


def test_any_keyword_is_enough() -> None:
    wanted = EventFilter(keywords=("actually", "instead"))
    assert found("Actually, no", wanted)
    assert found("use this instead", wanted)
    assert not found("something else", wanted)


def test_all_keywords_are_needed() -> None:
    wanted = EventFilter(keywords=("actually", "instead"), match_all=True)
    assert found("actually, use this instead", wanted)
    assert not found("actually, no", wanted)
    assert not found("instead", wanted)


def test_keywords_are_any_and_fold() -> None:
    assert found("spring ai in action", EventFilter(keywords=("SPRING", "nothing")))


def test_keyword_and_keywords_both_hold() -> None:
    wanted = EventFilter(keyword="c", keywords=("a", "b"))
    assert found("a c", wanted)
    assert not found("a b", wanted)
    assert not found("c", wanted)


def test_last_n_selects_the_newest_in_order() -> None:
    assert texts(log(*(user(f"msg-{n}") for n in range(1, 6))), EventFilter(last_n=2)) == ["msg-4", "msg-5"]


def test_times_are_inclusive_at_both_ends() -> None:
    events = log(*(user(str(time), time=time) for time in (9, 10, 15, 20, 21)))
    assert texts(events, EventFilter(from_time=10, to_time=20)) == ["10", "15", "20"]
    assert texts(events, EventFilter(from_time=20)) == ["20", "21"]
    assert texts(events, EventFilter(to_time=9)) == ["9"]
    assert texts(events, EventFilter(from_time=20, to_time=10)) == []


def test_seq_bounds_are_exclusive() -> None:
    events = log(*(user(str(n)) for n in range(1, 6)))
    assert texts(events, EventFilter(after_seq=2)) == ["3", "4", "5"]
    assert texts(events, EventFilter(before_seq=4)) == ["1", "2", "3"]
    assert texts(events, EventFilter(after_seq=1, before_seq=3)) == ["2"]
    assert texts(events, EventFilter(after_seq=0, before_seq=0)) == []


def test_exclude_synthetic_hides_both_halves_of_a_summary() -> None:
    events = log(user("u~", synthetic=True), assistant("a~", synthetic=True), user("u"), assistant("a"))
    assert texts(events, EventFilter(exclude_synthetic=True)) == ["u", "a"]
    assert texts(events, ALL) == ["u~", "a~", "u", "a"]


def test_everything_includes_what_is_archived_and_the_active_view_does_not() -> None:
    events = log(user("old", archived=True), user("new"))
    assert texts(events, ALL) == ["old", "new"]
    assert texts(events, EventFilter(exclude_archived=True)) == ["new"]


@pytest.mark.parametrize(("page", "size"), [(2**31 - 1, 10), (2**31 - 1, 2**31 - 1)])
def test_the_last_page_there_could_be_is_empty(page: int, size: int) -> None:
    assert texts(log(user("a")), EventFilter(page=page, page_size=size)) == []


@pytest.mark.parametrize(
    ("keyword", "wanted"),
    [("100%", "100% done"), ("_case", "snake_case"), ("a!b", "a!b"), ("\\", "back\\slash"), ("'", "it's"), ('"', 'say "hi"')],
)
def test_keywords_are_literal(keyword: str, wanted: str) -> None:
    events = log(
        *(
            user(text)
            for text in ("100% done", "1000 done", "snake_case", "camelcase", "a!b", "back\\slash", "it's", 'say "hi"')
        )
    )
    assert texts(events, EventFilter(keyword=keyword)) == [wanted]


def test_short_keywords_are_literal_in_both_modes() -> None:
    events = log(user("100% snake_case"), user("100%"), user("snake_case"), user("1000 snakescase"))
    assert texts(events, EventFilter(keywords=("0%", "e_c"))) == ["100% snake_case", "100%", "snake_case"]
    assert texts(events, EventFilter(keywords=("0%", "e_c"), match_all=True)) == ["100% snake_case"]


TURNS = log(user("u1"), assistant("a1"), user("u2"), assistant("a2"), assistant("b2"))


@pytest.mark.parametrize(
    ("n", "wanted"), [(1, "u2 a2 b2"), (2, "u2 a2 b2"), (3, "u2 a2 b2"), (4, "u1 a1 u2 a2 b2"), (5, "u1 a1 u2 a2 b2")]
)
def test_a_window_that_would_cut_a_turn_starts_at_its_user_event(n: int, wanted: str) -> None:
    assert texts(TURNS, EventFilter(last_n=n)) == wanted.split()


def test_the_turn_start_is_searched_among_the_matches() -> None:
    events = log(user("u1"), assistant("a1"), user("u2", time=99), assistant("a2"), assistant("b2"))
    assert texts(events, EventFilter(last_n=1, to_time=50)) == ["u1", "a1", "a2", "b2"]


@pytest.mark.parametrize("wanted", [EventFilter(last_n=1, keyword="2"), EventFilter(last_n=1, keywords=("2", "x"))])
def test_a_window_over_a_text_search_is_not_extended(wanted: EventFilter) -> None:
    assert texts(TURNS, wanted) == ["b2"]


def test_without_a_turn_start_among_the_matches_the_window_is_plain() -> None:
    assert texts(TURNS, EventFilter(last_n=2, roles=frozenset({Role.ASSISTANT}))) == ["a2", "b2"]
    assert texts(log(assistant("p1"), assistant("p2"), assistant("p3")), EventFilter(last_n=2)) == ["p2", "p3"]


@pytest.mark.parametrize("n", range(1, 7))
def test_exact_last_n_splits_turns(n: int) -> None:
    every = texts(TURNS, ALL)
    assert texts(TURNS, EventFilter(exact_last_n=n)) == every[-n:]


def test_an_exact_branch_has_the_events_of_no_other() -> None:
    events = log(*(user(name, branch=name) for name in ("", "a", "a.b", "a.b.c", "a.bc")))
    assert texts(events, EventFilter(branch="a.b", exact_branch=True)) == ["a.b"]
    assert texts(events, EventFilter(exact_branch=True)) == [""]
    assert texts(events, EventFilter(branch="a", exact_branch=True, exact_last_n=3)) == ["a"]


def test_neither_a_synthetic_nor_a_branch_user_event_starts_a_turn() -> None:
    events = log(user("u1"), user("s", synthetic=True), assistant("a"), user("b", branch="orch"), assistant("z"))
    assert texts(events, EventFilter(last_n=1)) == ["u1", "s", "a", "b", "z"]


@pytest.mark.parametrize("n", [5, 6, 2**31 - 1])
def test_a_window_larger_than_the_matches_selects_them_all(n: int) -> None:
    assert len(texts(TURNS, EventFilter(last_n=n))) == 5


def test_pages_are_not_extended() -> None:
    assert texts(TURNS, EventFilter(page=1, page_size=3)) == ["a2", "b2"]


def test_roles_are_alternatives() -> None:
    events = log(*(user(role.name, role=role) for role in Role))
    assert texts(events, EventFilter(roles=frozenset({Role.USER, Role.TOOL}))) == ["USER", "TOOL"]


FLEET: list[EventFacts] = log(
    user("human"),
    assistant("r1", author="r1", author_role="researcher"),
    assistant("r2", author="r2", author_role="researcher"),
    assistant("w1", author="w1", author_role="writer"),
    assistant("x", author="researcher"),
)


@pytest.mark.parametrize(
    ("steps", "wanted"),
    [
        ((including("r1"),), "r1"),
        ((including(roles=("researcher",)),), "r1 r2"),  # an id that looks like a role is no role
        ((including("w1", roles=("researcher",)),), "r1 r2 w1"),
        ((excluding("r1"),), "human r2 w1 x"),
        ((excluding(roles=("researcher", "")),), "human w1 x"),  # no role is not the empty role
        ((including(roles=("researcher",)), excluding("r1")), "r2"),
        ((excluding("r1"), including(roles=("researcher",))), "r2"),
        ((including("r1"), including("w1")), "r1 w1"),  # steps of one kind merge
        ((including("r1"), excluding("r1")), ""),
        ((including("r1"), excluding("r2"), including("r2", "w1")), "r1 w1"),
    ],
)
def test_author_steps(steps: tuple[AuthorStep, ...], wanted: str) -> None:
    assert texts(FLEET, EventFilter(authors=steps)) == wanted.split()


def test_steps_of_one_kind_merge_into_the_first_of_that_kind() -> None:
    assert EventFilter(authors=(including("a"), excluding("x"), including(roles=("b",)), excluding("y"))).authors == (
        including("a", roles=("b",)),
        excluding("x", "y"),
    )


def test_conditions_all_hold() -> None:
    wanted = EventFilter(
        roles=frozenset({Role.ASSISTANT}), authors=(including(roles=("researcher",)),), after_seq=2, keyword="R"
    )
    assert texts(FLEET, wanted) == ["r2"]


def test_select_returns_the_very_events() -> None:
    assert select(TURNS, ALL) == TURNS
    assert select(TURNS, ALL)[0] is TURNS[0]

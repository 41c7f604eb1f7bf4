from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

import threadkeep
from threadkeep import AuthorFilter, Authors, AuthorSet, BranchMatch, EventFilter, Filter, KeywordMatch, LogView
from threadkeep.v1.event_service_pb2 import ListEventsRequest
from threadkeep.v1.message_pb2 import Role

from .fake import FakeServer


def test_every_condition() -> None:
    built = threadkeep.event_filter(
        from_time=datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC),
        to_time=2_000_000_001,
        after_seq=0,
        before_seq=9,
        roles=["user", Role.ROLE_TOOL],
        authors=threadkeep.Authors.include(["a"]).exclude(roles=["r"]),
        exclude_synthetic=True,
        view="active",
        keyword="k",
        keywords=["x", "y"],
        match="all",
        branch="a.b",
        branch_match="exact",
        invocation_ids=["run"],
        native_formats=["f/1"],
        metadata={"a": "b"},
        pattern="x+",
        last_n=3,
    )
    wanted = EventFilter(
        after_seq=0,
        before_seq=9,
        roles=[Role.ROLE_USER, Role.ROLE_TOOL],
        author_filters=[AuthorFilter(include=AuthorSet(ids=["a"])), AuthorFilter(exclude=AuthorSet(roles=["r"]))],
        exclude_synthetic=True,
        view=LogView.LOG_VIEW_ACTIVE,
        keyword="k",
        keywords=["x", "y"],
        keyword_match=KeywordMatch.KEYWORD_MATCH_ALL,
        branch="a.b",
        branch_match=BranchMatch.BRANCH_MATCH_EXACT,
        invocation_ids=["run"],
        native_formats=["f/1"],
        metadata={"a": "b"},
        pattern="x+",
        last_n=3,
    )
    wanted.from_time.seconds, wanted.to_time.seconds, wanted.to_time.nanos = 1, 2, 1
    assert built == wanted
    assert built.HasField("after_seq")


def test_no_arguments_give_the_empty_filter() -> None:
    assert threadkeep.event_filter() == EventFilter()


def test_windows() -> None:
    assert threadkeep.event_filter(page=0, page_size=5).page.page_size == 5
    assert threadkeep.event_filter(last_n=0).WhichOneof("limit") == "last_n", "the server says what is wrong with it"
    assert threadkeep.event_filter(exact_last_n=2) == EventFilter(exact_last_n=2)
    for two in ({"last_n": 1, "page": 0}, {"last_n": 1, "exact_last_n": 1}, {"exact_last_n": 1, "page_size": 5}):
        with pytest.raises(ValueError, match="at most one window"):
            threadkeep.event_filter(**two)  # type: ignore[arg-type]


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="view must be one of unspecified, active, history, not 'old'"):
        threadkeep.event_filter(view="old")


@pytest.mark.parametrize("name", ["page", "page_size", "last_n", "exact_last_n", "after_seq", "before_seq"])
def test_a_number_of_another_type_is_named(name: str) -> None:
    with pytest.raises(TypeError, match=f"^{name} must be int, not tuple$"):
        threadkeep.event_filter(**{name: (0, 2)})  # type: ignore[arg-type]


def test_a_merged_filter_has_what_the_later_one_sets_and_the_rest_of_the_first() -> None:
    first = threadkeep.event_filter(
        roles=["user"], keywords=["a", "b"], match="all", branch="a.b", branch_match="exact", after_seq=3, last_n=5, keyword="k"
    )
    other = threadkeep.event_filter(roles=["tool"], keywords=["c"], branch="c", page=0, page_size=2, exclude_synthetic=True)
    wanted = threadkeep.event_filter(
        roles=["tool"], keywords=["c"], branch="c", page=0, page_size=2, exclude_synthetic=True, after_seq=3, keyword="k"
    )
    before = EventFilter()
    before.CopyFrom(first.pb)
    assert first.merge(other) == wanted
    assert first == before, "a filter is not changed"
    assert first.merge(Filter(EventFilter())) == first
    assert Filter(EventFilter()).merge(first).merge(other) == wanted
    root = first.merge(threadkeep.event_filter(branch_match="exact", after_seq=0))
    assert (root.branch, root.branch_match, root.after_seq, root.HasField("after_seq")) == (
        "",
        BranchMatch.BRANCH_MATCH_EXACT,
        0,
        True,
    )


def test_a_message_is_merged_like_a_filter() -> None:
    assert threadkeep.event_filter(keyword="k").merge(EventFilter(after_seq=3)) == EventFilter(keyword="k", after_seq=3)
    with pytest.raises(TypeError, match="filter must be EventFilter, not str"):
        threadkeep.event_filter(keyword="k").merge("x")  # type: ignore[arg-type]


def test_the_message_of_a_filter_is_part_of_a_request_that_is_built_by_hand() -> None:
    chosen = threadkeep.event_filter(roles=["user"])
    assert ListEventsRequest(filter=chosen.pb).filter == chosen == EventFilter(roles=[Role.ROLE_USER])


def test_authors_may_be_messages() -> None:
    steps = [AuthorFilter(include=AuthorSet(ids=["a"]))]
    assert threadkeep.event_filter(authors=steps) == threadkeep.event_filter(authors=Authors.include(["a"]))


def test_a_single_text_in_place_of_several_authors_is_refused() -> None:
    with pytest.raises(TypeError, match="ids must be several texts, not str"):
        Authors.include("planner")


@pytest.mark.parametrize("kind", ["filter", "message"])
async def test_every_method_takes_a_filter_or_its_message(client: Any, fake: FakeServer, kind: str) -> None:
    chosen = threadkeep.event_filter(roles=["user"])
    given = chosen if kind == "filter" else chosen.pb
    await client.events_page("s", given)
    await client.load_session("s", given)
    await client.user_events_page(filter=given)
    await client.search_page("q", filter=given)
    for method in ("ListEvents", "LoadSession", "ListUserEvents", "SearchEvents"):
        assert [request.filter for request in fake.requests(method)] == [chosen.pb], method

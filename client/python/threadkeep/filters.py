"""Filters: which events a read, a search or a subscription selects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from ._convert import check, enum_value, several, timestamp
from .v1.filter_pb2 import AuthorFilter, AuthorSet, BranchMatch, EventFilter, KeywordMatch, LogView, NumberedPage
from .v1.message_pb2 import Role
from .values.wrapper import Wrapper

_TOGETHER = (("keywords", "keyword_match"), ("branch", "branch_match"))
"""Fields of which a merge takes both or none."""


class _Step:
    """A step of a chain of authors; on the class it starts a chain."""

    def __init__(self, *, keeps: bool) -> None:
        self._keeps = keeps
        verb = "Keep only" if keeps else "Drop"
        self.__doc__ = f"{verb} events of these agents, by id or by role in the fleet; at least one."

    def __get__(self, chain: Authors | None, owner: type[Authors]) -> _BoundStep:
        return _BoundStep(chain or owner(), self._keeps)


@dataclass(frozen=True, slots=True)
class _BoundStep:
    chain: Authors
    keeps: bool

    def __call__(self, ids: Iterable[str] = (), *, roles: Iterable[str] = ()) -> Authors:
        chosen = AuthorSet(ids=several(ids, "ids"), roles=several(roles, "roles"))
        step = AuthorFilter(include=chosen) if self.keeps else AuthorFilter(exclude=chosen)
        return Authors((*self.chain.steps, step))


class Authors:
    """The authors whose events are read: `Authors.include(roles=["researcher"]).exclude(["critic"])`.

    Steps apply in order, each to the result of the one before it; steps of one kind merge at the position of the first.
    """

    __slots__ = ("steps",)

    include = _Step(keeps=True)
    exclude = _Step(keeps=False)

    def __init__(self, steps: Iterable[AuthorFilter] = ()) -> None:
        self.steps: tuple[AuthorFilter, ...] = tuple(steps)

    def __repr__(self) -> str:
        return f"Authors({self.steps!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Authors) and self.steps == other.steps

    __hash__ = None  # type: ignore[assignment]


class Filter(Wrapper[EventFilter]):
    """Which events a read, a search or a subscription selects. `event_filter` makes it; `Filter(message)` takes a message.

    Fields of the protobuf EventFilter are attributes too. `pb` is the message, for requests that are built by hand; where a
    method takes a filter, it takes the message as well.
    """

    __slots__ = ()

    def merge(self, other: FilterLike) -> Filter:
        """A filter with the conditions of both; what the other one sets replaces what this one sets.

        Values are not added to each other. `keywords` go with their `match`, `branch` with its `branch_match`, and a window
        replaces a window of any kind. Synthetic events are left out if either filter leaves them out.
        """
        merged, added = EventFilter(), filter_of(other) or EventFilter()
        merged.CopyFrom(self.pb)
        replaced = {field.name for field, _ in added.ListFields()}
        for pair in _TOGETHER:
            replaced |= {*pair} if replaced.intersection(pair) else set()
        for name in replaced:
            merged.ClearField(name)  # type: ignore[arg-type]  # the names of fields
        merged.MergeFrom(added)
        return Filter(merged)


FilterLike = Filter | EventFilter
"""A filter: a result of `event_filter`, or a message."""


def event_filter(
    *,
    from_time: datetime | int | None = None,
    to_time: datetime | int | None = None,
    after_seq: int | None = None,
    before_seq: int | None = None,
    roles: Iterable[Role.ValueType | str] = (),
    authors: Authors | Iterable[AuthorFilter] = (),
    exclude_synthetic: bool = False,
    view: LogView.ValueType | str = LogView.LOG_VIEW_UNSPECIFIED,
    keyword: str = "",
    keywords: Iterable[str] = (),
    match: KeywordMatch.ValueType | str = KeywordMatch.KEYWORD_MATCH_UNSPECIFIED,
    branch: str = "",
    branch_match: BranchMatch.ValueType | str = BranchMatch.BRANCH_MATCH_UNSPECIFIED,
    invocation_ids: Iterable[str] = (),
    native_formats: Iterable[str] = (),
    metadata: Mapping[str, str] | None = None,
    pattern: str = "",
    last_n: int | None = None,
    exact_last_n: int | None = None,
    page: int | None = None,
    page_size: int | None = None,
) -> Filter:
    """A filter; conditions combine with AND, values inside one with OR, then at most one window.

    Times are aware datetimes or nanoseconds since the epoch, both inclusive; seqs are exclusive. `roles` are names such as
    "user"; `authors` a chain such as `Authors.include(["planner"])`; `view` is "active" or "history" (the default, with
    archived events); `keyword` (at most 1,024 characters) and `keywords` (at most 64) are literal substrings after case
    folding, combined by `match`: "any" (the default) or "all". `branch`: what an agent on it sees; empty sees all. With
    `branch_match="exact"`, this branch only; empty is the root. `invocation_ids` (at most 64) and `native_formats` (at most
    16) are compared exactly, `metadata` (at most 16) with top-level values. `pattern` is an RE2 regular expression, found in
    the text, not case-folded. The window: `last_n`, the newest matches, extended to the start of a turn unless a condition is
    on text, invocation, metadata or format; or `exact_last_n`; or `page`, from 0, of `page_size`.
    """
    window = _window(last_n, exact_last_n, page, page_size)
    _check_numbers(after_seq=after_seq, before_seq=before_seq)
    message = EventFilter(
        from_time=timestamp(from_time, "from_time"),
        to_time=timestamp(to_time, "to_time"),
        after_seq=after_seq,
        before_seq=before_seq,
        roles=[enum_value(dict(Role.items()), "ROLE_", role, "roles") for role in roles],
        author_filters=authors.steps if isinstance(authors, Authors) else authors,
        exclude_synthetic=exclude_synthetic,
        view=enum_value(dict(LogView.items()), "LOG_VIEW_", view, "view"),
        keyword=keyword,
        keywords=keywords,
        keyword_match=enum_value(dict(KeywordMatch.items()), "KEYWORD_MATCH_", match, "match"),
        branch=branch,
        branch_match=enum_value(dict(BranchMatch.items()), "BRANCH_MATCH_", branch_match, "branch_match"),
        invocation_ids=invocation_ids,
        native_formats=native_formats,
        metadata=metadata or {},
        pattern=pattern,
    )
    message.MergeFrom(window)
    return Filter(message)


def filter_of(filter: FilterLike | None) -> EventFilter | None:  # noqa: A002
    """The message of a filter; None for none."""
    return filter.pb if isinstance(filter, Filter) else None if filter is None else check(filter, EventFilter, "filter")


def _window(last_n: int | None, exact_last_n: int | None, page: int | None, page_size: int | None) -> EventFilter:
    """A filter that has the window only."""
    paged = page is not None or page_size is not None
    if (last_n is not None) + (exact_last_n is not None) + paged > 1:
        raise ValueError("give at most one window: last_n, exact_last_n, or page and page_size")
    _check_numbers(last_n=last_n, exact_last_n=exact_last_n, page=page, page_size=page_size)
    return EventFilter(
        last_n=last_n,  # type: ignore[arg-type]  # None: not set
        exact_last_n=exact_last_n,  # type: ignore[arg-type]
        page=NumberedPage(page=page or 0, page_size=page_size or 0) if paged else None,
    )


def _check_numbers(**numbers: int | None) -> None:
    for name, value in numbers.items():
        if value is not None:
            check(value, int, name)

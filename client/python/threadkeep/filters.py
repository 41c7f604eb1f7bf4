"""Builders of `EventFilter`, the filter of every read and search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from ._convert import check, enum_value, timestamp
from .v1.filter_pb2 import AuthorFilter, AuthorSet, BranchMatch, EventFilter, KeywordMatch, LogView, NumberedPage
from .v1.message_pb2 import Role


def include(ids: Iterable[str] = (), *, roles: Iterable[str] = ()) -> AuthorFilter:
    """A step that keeps only events of these agents: by id or by agent role. At least one."""
    return AuthorFilter(include=AuthorSet(ids=ids, roles=roles))


def exclude(ids: Iterable[str] = (), *, roles: Iterable[str] = ()) -> AuthorFilter:
    """A step that drops events of these agents: by id or by agent role. At least one."""
    return AuthorFilter(exclude=AuthorSet(ids=ids, roles=roles))


def event_filter(
    *,
    from_time: datetime | int | None = None,
    to_time: datetime | int | None = None,
    after_seq: int | None = None,
    before_seq: int | None = None,
    roles: Iterable[Role.ValueType | str] = (),
    authors: Iterable[AuthorFilter] = (),
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
) -> EventFilter:
    """A filter; conditions combine with AND, values inside one with OR, then at most one window.

    Times are aware datetimes or nanoseconds since the epoch, both inclusive; seqs are exclusive. `roles` are names such as
    "user"; `authors` an ordered chain of `include` and `exclude`; `view` is "active" or "history" (the default, with archived
    events); `keyword` (at most 1,024 characters) and `keywords` (at most 64) are literal substrings after case folding,
    combined by `match`: "any" (the default) or "all". `branch`: what an agent on it sees; empty sees all. With
    `branch_match="exact"`, this branch only; empty is the root. `invocation_ids` (at most 64) and `native_formats` (at most
    16) are compared exactly, `metadata` (at most 16) with top-level values. `pattern` is an RE2 regular expression, found in
    the text, not case-folded. The window: `last_n`, the newest matches, extended to the start of a turn unless a condition is
    on text, invocation, metadata or format; or `exact_last_n`; or `page`, from 0, of `page_size`.
    """
    paged = page is not None or page_size is not None
    _check_window(last_n, exact_last_n, page, page_size)
    _check_numbers(after_seq=after_seq, before_seq=before_seq)
    return EventFilter(
        from_time=timestamp(from_time, "from_time"),
        to_time=timestamp(to_time, "to_time"),
        after_seq=after_seq,
        before_seq=before_seq,
        roles=[enum_value(dict(Role.items()), "ROLE_", role, "roles") for role in roles],
        author_filters=authors,
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
        last_n=last_n,  # type: ignore[arg-type]  # None: not set
        exact_last_n=exact_last_n,  # type: ignore[arg-type]
        page=NumberedPage(page=page or 0, page_size=page_size or 0) if paged else None,
    )


def merge_filters(first: EventFilter, *others: EventFilter) -> EventFilter:
    """A filter with the conditions of all; what a later one sets replaces what those before it set.

    Values are not added to each other. `keywords` go with their `match`, `branch` with its `branch_match`, and a window
    replaces a window of any kind. Synthetic events are left out if one filter leaves them out.
    """
    merged = EventFilter()
    merged.CopyFrom(first)
    for other in others:
        together = (("keywords", "keyword_match"), ("branch", "branch_match"))
        replaced = {field.name for field, _ in other.ListFields()}
        for pair in together:
            replaced |= {*pair} if replaced.intersection(pair) else set()
        for name in replaced:
            merged.ClearField(name)  # type: ignore[arg-type]  # the names of fields
        merged.MergeFrom(other)
    return merged


def _check_window(last_n: int | None, exact_last_n: int | None, page: int | None, page_size: int | None) -> None:
    paged = page is not None or page_size is not None
    if (last_n is not None) + (exact_last_n is not None) + paged > 1:
        raise ValueError("give at most one window: last_n, exact_last_n, or page and page_size")
    _check_numbers(last_n=last_n, exact_last_n=exact_last_n, page=page, page_size=page_size)


def _check_numbers(**numbers: int | None) -> None:
    for name, value in numbers.items():
        if value is not None:
            check(value, int, name)

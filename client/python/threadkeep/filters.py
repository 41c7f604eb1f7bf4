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
    "user"; `authors` an ordered chain of `include` and `exclude`; `view` is "active" or "history" (the default, which
    includes archived events); `keyword` (at most 1,024 characters) and `keywords` (at most 64) are literal substrings after
    case folding, combined by `match`: "any" (the default) or "all". `branch`: what an agent on it sees; empty sees all. With
    `branch_match="exact"`, this branch only; empty is the root. `invocation_ids` (at most 64) and `native_formats` (at most 16)
    are compared exactly; `metadata` with the top-level values of the event's, all of them (at most 16). `pattern` is a regular
    expression in the syntax of RE2 that must match somewhere in the text, not case-folded. The window: `last_n`, the newest n
    matches, extended to the start of a turn unless a condition on text, invocation, metadata or native format is set; or
    `exact_last_n`, never extended; or `page`, from 0, of `page_size`.
    """
    paged = page is not None or page_size is not None
    if (last_n is not None) + (exact_last_n is not None) + paged > 1:
        raise ValueError("give at most one window: last_n, exact_last_n, or page and page_size")
    numbers = {"last_n": last_n, "exact_last_n": exact_last_n, "page": page, "page_size": page_size}
    for name, value in {"after_seq": after_seq, "before_seq": before_seq, **numbers}.items():
        if value is not None:
            check(value, int, name)
    result = EventFilter(
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
        page=NumberedPage(page=page or 0, page_size=page_size or 0) if paged else None,
    )
    if last_n is not None:
        result.last_n = last_n
    if exact_last_n is not None:
        result.exact_last_n = exact_last_n
    return result

"""EventFilter: the executable specification. Every store must return what `select` returns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from .branches import visible_from
from .errors import InvalidField
from .memories import top_values
from .model import BodyFacts, EventFacts, Role
from .text import fold
from .turns import last_n_start

E = TypeVar("E", bound=EventFacts)


@dataclass(frozen=True, slots=True)
class Authors:
    """Authors by id or by role; an event without an author role matches by id only."""

    ids: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()

    def __or__(self, other: Authors) -> Authors:
        return Authors(self.ids | other.ids, self.roles | other.roles)

    def match(self, event: EventFacts) -> bool:
        return event.author in self.ids or (bool(event.author_role) and event.author_role in self.roles)


@dataclass(frozen=True, slots=True)
class AuthorStep:
    """One step of a chain: includes only these authors, or excludes them."""

    include: bool
    authors: Authors


class Pattern(Protocol):
    """A compiled regular expression. Patterns of the same source are equal."""

    @property
    def source(self) -> str: ...

    def found_in(self, text: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Conditions (AND) and at most one window: `last_n`, `exact_last_n`, or `page` of `page_size`.

    The constructor normalizes and validates it. `metadata`: pairs of a key and its value as in `memories.top_values`, sorted.
    """

    from_time: int | None = None
    to_time: int | None = None
    after_seq: int | None = None
    before_seq: int | None = None
    roles: frozenset[Role] = frozenset()
    authors: tuple[AuthorStep, ...] = ()
    exclude_synthetic: bool = False
    exclude_archived: bool = False
    keyword: str = ""
    keywords: tuple[str, ...] = ()
    match_all: bool = False
    branch: str = ""
    exact_branch: bool = False
    invocation_ids: frozenset[str] = frozenset()
    native_formats: frozenset[str] = frozenset()
    metadata: tuple[tuple[str, str], ...] = ()
    pattern: Pattern | None = None
    last_n: int | None = None
    exact_last_n: int | None = None
    page: int | None = None
    page_size: int | None = None

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "keyword", fold(self.keyword) if self.keyword.strip() else "")
        set_(self, "keywords", tuple(dict.fromkeys(fold(term) for term in self.keywords if term.strip())))
        set_(self, "match_all", self.match_all and bool(self.keywords))
        set_(self, "authors", _merge_steps(self.authors))
        self._check_window()

    def _check_window(self) -> None:
        for name in ("last_n", "exact_last_n"):
            count = getattr(self, name)
            if count is not None and count < 1:
                raise InvalidField(f"filter.{name}", "must be at least 1")
        if self.page_size is not None and self.page_size < 1:
            raise InvalidField("filter.page.page_size", "must be at least 1")
        if self.page is not None and self.page_size is None:
            raise InvalidField("filter.page.page_size", "is required with page")
        if self.page is not None and self.page < 0:
            raise InvalidField("filter.page.page", "must not be negative")
        if sum(each is not None for each in (self.last_n, self.exact_last_n, self.page_size)) > 1:
            name = "exact_last_n" if self.last_n is None else "last_n"
            raise InvalidField(f"filter.{name}", "and another window are mutually exclusive")
        if self.page_size is not None and self.page is None:
            object.__setattr__(self, "page", 0)

    @property
    def terms(self) -> tuple[str, ...]:
        """Folded terms; the text must satisfy `holds` on them."""
        return (*((self.keyword,) if self.keyword else ()), *self.keywords)

    @property
    def decodes(self) -> bool:
        """Whether a condition needs the body of an event, also where its text is indexed."""
        return bool(self.invocation_ids or self.native_formats or self.metadata or self.pattern)

    @property
    def reads_body(self) -> bool:
        """Whether a condition needs the body of an event or its derived text: see `holds_body`."""
        return bool(self.terms) or self.decodes

    @property
    def newest(self) -> int | None:
        """The number of newest matches that the window has; None if it is another one."""
        return self.exact_last_n if self.last_n is None else self.last_n

    @property
    def splits_turns(self) -> bool:
        """Whether a window of the newest matches begins within a turn if they do."""
        return self.last_n is None or self.reads_body

    @property
    def branches(self) -> frozenset[str] | None:
        """The branches that are selected; None means all."""
        if self.exact_branch:
            return frozenset({self.branch})
        return visible_from(self.branch) if self.branch else None

    @property
    def has_window(self) -> bool:
        return self.newest is not None or self.page_size is not None

    @property
    def offset(self) -> int:
        """The number of matches that a numbered page skips."""
        return (self.page or 0) * (self.page_size or 0)

    def holds(self, folded: str) -> bool:
        """Whether an event's folded text satisfies the keywords."""
        if self.keyword and self.keyword not in folded:
            return False
        combine = all if self.match_all else any
        return not self.keywords or combine(term in folded for term in self.keywords)

    def holds_body(self, facts: BodyFacts | EventFacts) -> bool:
        """Whether the facts of an event's body satisfy the conditions on them; the pattern last, because it takes longest."""
        return (
            (not self.invocation_ids or facts.invocation_id in self.invocation_ids)
            and (not self.native_formats or facts.native_format in self.native_formats)
            and (not self.metadata or self._has_metadata(facts.metadata_json))
            and (not self.terms or self.holds(fold(facts.text)))
            and (self.pattern is None or self.pattern.found_in(facts.text))
        )

    def _has_metadata(self, metadata_json: str) -> bool:
        values = top_values(metadata_json) if metadata_json else {}
        return all(values.get(key) == value for key, value in self.metadata)

    def without_window(self) -> EventFilter:
        return replace(self, last_n=None, exact_last_n=None, page=None, page_size=None)


def _merge_steps(steps: Sequence[AuthorStep]) -> tuple[AuthorStep, ...]:
    """Merges steps of one kind into the first of that kind."""
    merged: dict[bool, Authors] = {}
    for step in steps:
        merged[step.include] = merged[step.include] | step.authors if step.include in merged else step.authors
    return tuple(AuthorStep(include, authors) for include, authors in merged.items())


ALL = EventFilter()


def matches(event: EventFacts, wanted: EventFilter) -> bool:
    """Whether an event satisfies every condition, without the window."""
    if wanted.exclude_synthetic and event.synthetic:
        return False
    if wanted.exclude_archived and event.archived:
        return False
    if wanted.from_time is not None and event.time < wanted.from_time:
        return False
    if wanted.to_time is not None and event.time > wanted.to_time:
        return False
    if wanted.after_seq is not None and event.seq <= wanted.after_seq:
        return False
    if wanted.before_seq is not None and event.seq >= wanted.before_seq:
        return False
    if wanted.roles and event.role not in wanted.roles:
        return False
    if any(step.authors.match(event) is not step.include for step in wanted.authors):
        return False
    if (branches := wanted.branches) is not None and event.branch not in branches:
        return False
    return not wanted.reads_body or wanted.holds_body(event)


def select(events: Iterable[E], wanted: EventFilter) -> list[E]:
    """Returns the events, given in window order, that satisfy the conditions and then the window."""
    found = [event for event in events if matches(event, wanted)]
    if wanted.newest is not None:
        return found[_newest_start(found, wanted, wanted.newest) :]
    if wanted.page_size is not None:
        return found[wanted.offset : wanted.offset + wanted.page_size]
    return found


def _newest_start(found: Sequence[EventFacts], wanted: EventFilter, n: int) -> int:
    """Returns the start of a window of the newest matches: the start of a turn, unless the window splits turns."""
    return max(0, len(found) - n) if wanted.splits_turns else last_n_start(found, n)


_REPLACED = (
    *("from_time", "to_time", "after_seq", "before_seq", "roles", "authors", "keyword"),
    *("invocation_ids", "native_formats", "metadata", "pattern"),
)


def merge(base: EventFilter, other: EventFilter) -> EventFilter:
    """Returns `base` overridden by the fields that `other` sets; exclusions are combined, the window is one unit."""
    changes: dict[str, object] = {
        name: value for name in _REPLACED if (value := getattr(other, name)) not in (None, "", (), frozenset())
    }
    if other.keywords:
        changes |= {"keywords": other.keywords, "match_all": other.match_all}
    if other.branches is not None:
        changes |= {"branch": other.branch, "exact_branch": other.exact_branch}
    if other.has_window:
        changes |= {name: getattr(other, name) for name in ("last_n", "exact_last_n", "page", "page_size")}
    changes["exclude_synthetic"] = base.exclude_synthetic or other.exclude_synthetic
    changes["exclude_archived"] = base.exclude_archived or other.exclude_archived
    return replace(base, **changes)  # type: ignore[arg-type]

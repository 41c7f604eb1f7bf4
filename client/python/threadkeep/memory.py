"""Memory providers: the events that a participant reads, and whether it writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypedDict

from ._arguments import refuse_unknown
from ._convert import check
from .filters import Authors
from .v1.context_pb2 import ContextMode, ContextSpec
from .v1.filter_pb2 import AuthorFilter


class ContextFields(TypedDict, total=False):
    """The fields of a ContextSpec, which documents them."""

    mode: ContextMode.ValueType
    author_filters: Iterable[AuthorFilter]
    author_roles: Mapping[str, str]
    last_n: int | None
    max_turns: int | None
    max_bytes: int | None
    max_tokens: int | None
    branch: str
    exclude_system: bool


class _Mode:
    """Sets the mode of a provider; on the class it starts with that mode."""

    def __init__(self, mode: ContextMode.ValueType, doc: str) -> None:
        self._mode = mode
        self.__doc__ = doc

    def __get__(self, provider: MemoryProvider | None, owner: type[MemoryProvider]) -> Callable[[], MemoryProvider]:
        def moded() -> MemoryProvider:
            spec = ContextSpec() if provider is None else provider.spec
            spec.mode = self._mode
            return owner(spec)

        return moded


class MemoryProvider:
    """How a participant uses a session: the events it reads, and whether it writes. An argument of `get_context` and `append`.

    Start with `limited_window()`, `none()`, `read_only()` or `write_only()`; every method returns a new provider. Unlike in the
    Akka SDK, where the last of readLast and filtered wins, all conditions apply: filters first, then the newest n events, then
    the newest turns, then the sizes.
    """

    __slots__ = ("_spec",)

    read_only = _Mode(ContextMode.CONTEXT_MODE_READ_ONLY, "Reads; its appends are dropped.")
    write_only = _Mode(ContextMode.CONTEXT_MODE_WRITE_ONLY, "Writes; its contexts are empty.")

    def __init__(self, spec: ContextSpec | None = None) -> None:
        self._spec = ContextSpec()
        if spec is not None:
            self._spec.CopyFrom(check(spec, ContextSpec, "spec"))

    @classmethod
    def none(cls) -> MemoryProvider:
        """Neither reads nor writes."""
        return cls(ContextSpec(mode=ContextMode.CONTEXT_MODE_NONE))

    @classmethod
    def limited_window(cls) -> MemoryProvider:
        """Reads the active window within the session's or the server's size (156 KiB), and writes."""
        return cls(ContextSpec(mode=ContextMode.CONTEXT_MODE_READ_WRITE))

    @property
    def spec(self) -> ContextSpec:
        """A copy of the ContextSpec that is sent to the server."""
        spec = ContextSpec()
        spec.CopyFrom(self._spec)
        return spec

    @property
    def reads(self) -> bool:
        """False when its contexts are empty."""
        return self._spec.mode not in (ContextMode.CONTEXT_MODE_NONE, ContextMode.CONTEXT_MODE_WRITE_ONLY)

    @property
    def writes(self) -> bool:
        """False when nothing is appended for it."""
        return self._spec.mode not in (ContextMode.CONTEXT_MODE_NONE, ContextMode.CONTEXT_MODE_READ_ONLY)

    def read_last(self, n: int, authors: Authors | None = None) -> MemoryProvider:
        """Only the newest n events, of these authors if there are any, extended back to the start of their turn."""
        return self._with(ContextSpec(last_n=n, author_filters=authors.steps if authors else ()))

    def filtered(self, authors: Authors) -> MemoryProvider:
        """Only events of these authors; a further call applies to its result."""
        return self._with(ContextSpec(author_filters=authors.steps))

    def with_author_roles(self, roles: Mapping[str, str]) -> MemoryProvider:
        """Roles of agents by id, for filters; they override the roles stored with the events."""
        return self._with(ContextSpec(author_roles=roles))

    def max_turns(self, n: int) -> MemoryProvider:
        """Only the newest n turns."""
        return self._with(ContextSpec(max_turns=n))

    def max_tokens(self, n: int) -> MemoryProvider:
        """At most n tokens, by the server's estimate."""
        return self._with(ContextSpec(max_tokens=n))

    def max_bytes(self, n: int) -> MemoryProvider:
        """At most n bytes of text, reasoning, tool calls and results."""
        return self._with(ContextSpec(max_bytes=n))

    def on_branch(self, branch: str) -> MemoryProvider:
        """Events that an agent on this branch reads: of the root, the branch itself and its ancestors."""
        return self._with(ContextSpec(branch=branch))

    def without_system(self) -> MemoryProvider:
        """Excludes the SYSTEM event."""
        return self._with(ContextSpec(exclude_system=True))

    def _with(self, changes: ContextSpec) -> MemoryProvider:
        changed = MemoryProvider(self._spec)
        changed._spec.MergeFrom(changes)
        return changed

    def __repr__(self) -> str:
        return f"MemoryProvider({self._spec!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemoryProvider) and self._spec == other._spec

    __hash__ = None  # type: ignore[assignment]


def context_spec(spec: ContextSpec | MemoryProvider | None, fields: ContextFields) -> ContextSpec | None:
    """The ContextSpec of the arguments; None without any."""
    refuse_unknown("get_context", fields, ContextFields.__annotations__)
    if spec is None:
        return ContextSpec(**fields) if fields else None
    if fields:
        raise ValueError(f"give either a spec or its fields, not both: {', '.join(fields)}")
    if isinstance(spec, MemoryProvider):
        return spec.spec
    return check(spec, ContextSpec, "spec")

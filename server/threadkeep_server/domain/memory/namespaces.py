"""Namespaces of memories: paths of labels. Stores hold a path as one text, in which a prefix is a range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Namespace = tuple[str, ...]

ROOT: Namespace = ()
MOST_LABELS = 16
MOST_BYTES = 1024
"""Largest path, in UTF-8: names are in indexes, whose rows PostgreSQL limits to a third of a page."""
ANY = "*"
"""The label of a pattern that matches every label."""

# No label or id has a control character. This one is below all other characters, so paths are ordered as their tuples.
_END, _PAST_END = "\x1f", "\x20"


def path_of(namespace: Namespace) -> str:
    """Returns the path: each label, ended. It begins with the paths of the namespaces above."""
    return "".join(f"{label}{_END}" for label in namespace)


def namespace_of(path: str) -> Namespace:
    return tuple(path.split(_END)[:-1])


def stored_name(namespace: Namespace, memory_id: str) -> str:
    """Returns the name that is unique within the scope; in the root it is the id."""
    return path_of(namespace) + memory_id


def split_name(name: str) -> tuple[Namespace, str]:
    """Returns the namespace and the id of a stored name."""
    *labels, memory_id = name.split(_END)
    return tuple(labels), memory_id


def prefixes(namespace: Namespace) -> list[str]:
    """Returns the paths of the namespace and of those above it, without the root."""
    return [path_of(namespace[:depth]) for depth in range(1, len(namespace) + 1)]


def is_within(namespace: Namespace, prefix: Namespace) -> bool:
    """Returns whether the namespace is the prefix or below it."""
    return namespace[: len(prefix)] == prefix


def range_end(path: str) -> str:
    """Returns the first text after all paths that begin with this one, which is not that of the root."""
    return path[:-1] + _PAST_END


@dataclass(frozen=True, slots=True)
class NamespaceQuery:
    """Which namespaces to list. ANY in `prefix` and `suffix` matches every label; `max_depth` 0: no limit."""

    prefix: Namespace = ROOT
    suffix: Namespace = ROOT
    max_depth: int = 0

    def matches(self, namespace: Namespace) -> bool:
        """Returns whether the whole namespace matches."""
        if max(len(self.prefix), len(self.suffix)) > len(namespace):
            return False
        ends = namespace[len(namespace) - len(self.suffix) :]
        return _fits(self.prefix, namespace) and _fits(self.suffix, ends)

    def shown(self, namespace: Namespace) -> Namespace:
        """Returns what is listed of a namespace that matches."""
        return namespace[: self.max_depth] if self.max_depth else namespace

    def after(self, shown: Namespace) -> str:
        """Returns the path from which the next namespaces are listed, after this one was."""
        path = path_of(shown)
        return range_end(path) if self.max_depth and len(shown) == self.max_depth else path + _PAST_END

    @property
    def literal(self) -> Namespace:
        """The labels of the prefix that come before its first ANY."""
        return self.prefix[: self.prefix.index(ANY)] if ANY in self.prefix else self.prefix


def _fits(pattern: Sequence[str], labels: Sequence[str]) -> bool:
    return all(wanted in (ANY, label) for wanted, label in zip(pattern, labels, strict=False))

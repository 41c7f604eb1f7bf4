"""Branch visibility."""

from __future__ import annotations


def visible_from(branch: str) -> frozenset[str]:
    """Returns the branches visible to an agent on `branch`: the root, every ancestor and itself.

    >>> sorted(visible_from("a.b"))
    ['', 'a', 'a.b']
    """
    segments = branch.split(".") if branch else []
    return frozenset(".".join(segments[:depth]) for depth in range(len(segments) + 1))

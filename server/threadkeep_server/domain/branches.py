"""Branch visibility: what an agent on a dotted path may see."""

from __future__ import annotations


def visible_from(branch: str) -> frozenset[str]:
    """The branches whose events an agent on `branch` sees: the root, every ancestor and itself.

    >>> sorted(visible_from("a.b"))
    ['', 'a', 'a.b']
    """
    segments = branch.split(".") if branch else []
    return frozenset(".".join(segments[:depth]) for depth in range(len(segments) + 1))

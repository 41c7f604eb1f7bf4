"""Lists namespaces: each is one step in the index, however many entries it has."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy import Connection

from ....domain.memories import MemoryScope
from ....domain.memory.namespaces import Namespace, NamespaceQuery, namespace_of, path_of, range_end
from ...contract.memories import NamespacePage
from ..schema.memories import memories
from .rows import is_live, within

# Namespaces that are read in one statement, and at most for one page.
_AT_ONCE, _MOST_READ = 64, 4096

_m = memories.c


def namespaces_page(
    connection: Connection, tenant: str, scope: MemoryScope, wanted: NamespaceQuery, limit: int, cursor: str | None, now: int
) -> NamespacePage:
    """See MemoriesStore.memory_namespaces. Runs in a snapshot."""
    first = path_of(wanted.literal)
    end = range_end(first) if first else None
    start = max(first, cursor or "")
    found: list[Namespace] = []
    read = 0
    while read < _MOST_READ:
        some = _next(connection, tenant, scope, start, end, now)
        for path in some:
            read += 1
            if path < start:
                continue  # of a group that is listed already
            namespace = namespace_of(path)
            if not wanted.matches(namespace):
                start = _beyond(path)
                continue
            if len(found) == limit:
                return NamespacePage(found, wanted.after(found[-1]))
            shown = wanted.shown(namespace)
            found.append(shown)
            start = wanted.after(shown)
        if len(some) < _AT_ONCE:
            return NamespacePage(found)
    return NamespacePage(found, start)


def _beyond(path: str) -> str:
    return NamespaceQuery().after(namespace_of(path))


def _next(connection: Connection, tenant: str, scope: MemoryScope, start: str, end: str | None, now: int) -> Sequence[str]:
    """Returns the next paths from `start`. Recursive: for a DISTINCT both databases would read all entries."""
    inside = [within(tenant, scope), is_live(now)]
    if end is not None:
        inside.append(_m.namespace < end)
    first = sa.select(_m.namespace).where(*inside, _m.namespace >= start).order_by(_m.namespace).limit(1).scalar_subquery()
    walk = sa.select(first.label("path"), sa.literal_column("1").label("step")).cte("walk", recursive=True)
    following = sa.select(_m.namespace).where(*inside, _m.namespace > walk.c.path).order_by(_m.namespace).limit(1)
    more = sa.select(following.correlate(walk).scalar_subquery(), walk.c.step + 1)
    more = more.where(walk.c.path.is_not(None), walk.c.step < _AT_ONCE)
    walk = walk.union_all(more)
    return sorted(connection.execute(sa.select(walk.c.path).where(walk.c.path.is_not(None))).scalars())

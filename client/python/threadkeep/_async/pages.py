"""Iterating over all items of a list; see `client`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Protocol, TypeVar


class Page(Protocol):
    """One page of a list."""

    @property
    def next_page_token(self) -> str:
        """The token of the next page; empty on the last one."""


P = TypeVar("P", bound=Page)
Item = TypeVar("Item")


async def paged(fetch: Callable[[str], Awaitable[P]], items: Callable[[P], Iterable[Item]]) -> AsyncIterator[Item]:
    """Yields the items of all pages. Each page is fetched by its token, the first by "", when it is reached."""
    token, more = "", True
    while more:
        page = await fetch(token)
        for item in items(page):
            yield item
        token, more = page.next_page_token, bool(page.next_page_token)

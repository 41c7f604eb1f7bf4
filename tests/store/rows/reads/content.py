"""The content bytes of a session's window."""

from __future__ import annotations

from tests.support.codec import call, draft, result
from tests.support.removals import clear, erase_events, pop, replace_suffix, upsert
from tests.support.sessions import TENANT, append, compact, create, placed, ref
from threadkeep_server.domain.context import ContextSpec
from threadkeep_server.store.contract.store import Store


async def content(store: Store) -> int:
    return (await store.get_session(TENANT, ref())).content_bytes


async def fits(store: Store, size: int) -> bool:
    """Whether a context of this size holds the whole window."""
    page = await store.get_context(TENANT, ref(), ContextSpec(max_bytes=size), 1)
    return not page.truncated and not page.over_budget


class ContentRows:
    async def test_content_is_counted_in_the_measure_of_contexts(self, store: Store) -> None:
        await create(store)
        assert await content(store) == 0
        await append(store, draft("héllo"), call("c1"), result("c1"), draft("bye", event_id="e4"))
        size = await content(store)
        assert size > len("héllobye".encode())
        assert (await fits(store, size), await fits(store, size - 1)) == (True, False)

    async def test_what_leaves_the_window_and_what_replaces_it_are_counted(self, store: Store) -> None:
        await create(store)
        letters = [draft(text * 10, event_id=text) for text in "abcdefgh"]
        await append(store, *letters)
        await append(store, letters[0])
        assert await content(store) == 80
        await compact(store, ["a", "b"], placed("c", draft("sum", synthetic=True)))
        assert await content(store) == 63
        await pop(store)
        assert await content(store) == 53
        await erase_events(store, "a", "c")
        assert await content(store) == 43
        await replace_suffix(store, ["f", "g"], draft("12345"))
        assert await content(store) == 28
        await upsert(store, draft("d", event_id="d"), draft("new"))
        assert await content(store) == 22
        await clear(store)
        assert await content(store) == 0
        await append(store, draft("1"), draft("23"))
        assert await content(store) == 3
        await clear(store, erase=True)
        assert await content(store) == 0

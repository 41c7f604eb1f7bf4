"""Vectors of sessions that change their owners, as searches cache them."""

from __future__ import annotations

from tests.support.moves import move
from tests.support.sessions import ref
from tests.unit.service.search.test_vector_search import fleet, near
from threadkeep_server.domain.scopes import UserScope


async def test_a_moved_session_is_found_from_the_cache_of_its_new_owner_only() -> None:
    services = await fleet()
    await services.session("s9", "the newest automobile", user="bob")
    await services.embed_all()
    assert len(await near(services, "car")) == 4
    assert await near(services, "car", UserScope("bob")) == ["the newest automobile"]
    await move(services.store, of=ref("s1"))
    assert "my automobile" not in await near(services, "car")
    assert "my automobile" in await near(services, "car", UserScope("bob"))  # its key is lower than those in the cache
    assert "my automobile" in await near(services, "car", ref("s1", user="bob"))
    await move(services.store, "alice", of=ref("s1", user="bob"))
    assert len(await near(services, "car")) == 4

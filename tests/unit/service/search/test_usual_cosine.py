"""The median cosine of a scope, which says whether the model separates its documents."""

from __future__ import annotations

import pytest

from tests.support.sessions import TENANT
from tests.unit.service.search.searching import Meanings, SearchServices
from threadkeep_server.domain.filters import EventFilter
from threadkeep_server.domain.scopes import UserScope

ALICES = UserScope("alice", "shop")
ANY = EventFilter()


async def test_the_usual_cosine_is_that_of_most_documents_of_a_scope_that_has_enough() -> None:
    services = SearchServices(Meanings())
    await services.session("s1", "my automobile", *["my vessel"] * 13)
    await services.embed_all()
    assert services.vectors is not None
    assert (await services.vectors.events(TENANT, ALICES, "car", ANY, 2)).usual is None
    await services.session("s2", *["my vessel"] * 2)
    await services.embed_all()
    found, usual = await services.vectors.events(TENANT, ALICES, "car", ANY, 2)
    assert usual == pytest.approx(found[1].cosine)
    assert found[0].cosine > found[1].cosine

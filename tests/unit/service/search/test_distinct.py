"""Pages that have each event once."""

from __future__ import annotations

import pytest

from tests.unit.service.search.searching import SearchServices, said
from threadkeep_server.service.search.ranked_search import RankedPage

TALK = ("the boat", "a boat", "boat", "tea", "salt", "more", "boat again", "end", "rope", "and", "so", "boat at last")


def shown(page: RankedPage) -> list[int]:
    """The seqs that the page shows, hits and neighbors, in their order."""
    return [each.seq for hit in page.hits for each in (*hit.found.before, hit.found.event, *hit.found.after)]


async def talk() -> SearchServices:
    services = SearchServices()
    await services.session("s1", *TALK)
    return services


async def test_a_page_has_each_event_once_and_fills_with_others() -> None:
    services = await talk()
    plain = await services.find("boat", neighbors=1, limit=3)
    assert len(shown(plain)) > len(set(shown(plain)))
    page = await services.find("boat", neighbors=1, limit=3, distinct=True)
    assert len(page.hits) == 3
    assert len(shown(page)) == len(set(shown(page))) > len(set(shown(plain)))


async def test_what_was_shown_as_a_neighbor_is_no_hit_of_its_page() -> None:
    services = await talk()
    order = said(await services.find("boat"))
    page = await services.find("boat", neighbors=2, distinct=True)
    assert said(page)[0] == order[0]
    assert len(page.hits) < len(order)
    assert set(shown(await services.find("boat", neighbors=2))) == set(shown(page)), "nothing is lost"


async def test_pages_continue_behind_the_last_hit_that_was_read() -> None:
    services = await talk()
    first = await services.find("boat", neighbors=1, limit=2, distinct=True)
    assert first.next_offset is not None
    rest = await services.find("boat", neighbors=1, limit=10, distinct=True, offset=first.next_offset)
    assert rest.next_offset is None
    assert set(said(first)).isdisjoint(said(rest))


@pytest.mark.parametrize("neighbors", [0, 1])
async def test_single_hits_are_the_same(neighbors: int) -> None:
    services = SearchServices()
    await services.session("s1", "boat", "tea", "rope")
    pages = [await services.find("boat", neighbors=neighbors, distinct=value) for value in (False, True)]
    assert shown(pages[0]) == shown(pages[1])

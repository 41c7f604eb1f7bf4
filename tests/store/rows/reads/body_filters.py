"""Conditions on what only an event's body has: invocation, native format, metadata, and patterns."""

from __future__ import annotations

from typing import Any

from tests.support.codec import draft, texts
from tests.support.sessions import TENANT, read, search, session_with
from threadkeep_server.domain.filters import EventFilter
from threadkeep_server.domain.model import Role
from threadkeep_server.domain.scopes import AppScope, UserScope
from threadkeep_server.domain.search import WordQuery
from threadkeep_server.search.patterns import compiled
from threadkeep_server.store.contract.store import Store

_EVENTS = (
    draft("order 17", invocation_id="run-1", metadata_json='{"step": 1, "kind": "plan"}'),
    draft("Order 18", role=Role.ASSISTANT, invocation_id="run-1", native_format="openai.chat.message/1"),
    draft("order x", invocation_id="run-2", native_format="adk.event.py/1", metadata_json='{"step": "1", "kind": null}'),
    draft("pancake o", role=Role.ASSISTANT, metadata_json='{"step": 1.0}'),
)
_CASES: list[tuple[dict[str, Any], list[int]]] = [
    ({"invocation_ids": frozenset({"run-1"})}, [0, 1]),
    ({"invocation_ids": frozenset({"run-1", "run-2"})}, [0, 1, 2]),
    ({"invocation_ids": frozenset({"run"})}, []),
    ({"native_formats": frozenset({"openai.chat.message/1"})}, [1]),
    ({"metadata": (("step", "1"),)}, [0, 2]),
    ({"metadata": (("kind", "plan"), ("step", "1"))}, [0]),
    ({"metadata": (("step", "1.0"),)}, [3]),
    ({"metadata": (("absent", ""),)}, []),
    ({"pattern": compiled("pattern", r"order \d+$")}, [0]),
    ({"pattern": compiled("pattern", r"(?i)^order \d+$")}, [0, 1]),
    ({"pattern": compiled("pattern", "order"), "invocation_ids": frozenset({"run-2"})}, [2]),
]


class BodyFilterRows:
    async def test_conditions_on_the_body_select_in_lists_and_searches(self, store: Store) -> None:
        await session_with(store, *_EVENTS)
        for fields, places in _CASES:
            expected = [texts_of(place) for place in places]
            wanted = EventFilter(**fields)
            assert texts(await read(store, wanted)) == expected, fields
            for scope in (UserScope("alice"), AppScope("shop")):
                hits = await search(store, EventFilter(keyword="o", **fields), scope)
                assert texts(hit.event for hit in hits) == expected, fields
            ranked = await store.word_candidates(TENANT, UserScope("alice"), WordQuery(("order", "pancak")), wanted)
            assert len(ranked.found) == len(expected), fields

    async def test_a_window_of_matches_by_the_body_may_split_a_turn(self, store: Store) -> None:
        await session_with(store, *_EVENTS)
        wanted = EventFilter(invocation_ids=frozenset({"run-1"}), last_n=1)
        assert texts(await read(store, wanted)) == ["Order 18"]
        assert texts(await read(store, EventFilter(metadata=(("step", "1"),), page=1, page_size=1))) == ["order x"]


def texts_of(place: int) -> str:
    return ("order 17", "Order 18", "order x", "pancake o")[place]

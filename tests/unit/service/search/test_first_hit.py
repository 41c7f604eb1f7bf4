"""The first hit of HYBRID with an embedder that compares spellings is that of RANKED; what words do not find comes behind."""

from __future__ import annotations

from typing import Any

from tests.recall_bench.groups import DEVELOPMENT
from tests.recall_bench.loaders import load
from tests.unit.service.search.searching import SearchServices, said
from threadkeep_server.domain.search import SearchMode
from threadkeep_server.providers.embedders.hashing import HashingEmbedder


async def test_with_spellings_the_first_hit_of_hybrid_is_that_of_ranked() -> None:
    embedder: Any = HashingEmbedder()
    services = SearchServices(embedder)
    conversation = next(each for each in load(DEVELOPMENT / "assistant") if each.id == "half-marathon-knee")
    await services.session("s1", *dict.fromkeys(turn.text for _, turn in conversation.turns() if turn.text))
    await services.embed_all()
    found = more = 0
    for question in conversation.questions:
        ranked, hybrid = [
            said(await services.find(question.text, mode=mode)) for mode in (SearchMode.RANKED, SearchMode.HYBRID)
        ]
        if ranked:
            assert hybrid[0] == ranked[0], question.text
            found += 1
        more += not set(hybrid) <= set(ranked)
    assert found > 10
    assert more > 10

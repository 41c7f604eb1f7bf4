"""What likeness counts: in full in a language that the model knows, otherwise by the median cosine of the scope."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.support.sessions import TENANT
from tests.unit.service.search.searching import Meanings, SearchServices
from threadkeep_server.domain.filters import EventFilter
from threadkeep_server.domain.scopes import UserScope
from threadkeep_server.domain.search import Scored, SearchMode
from threadkeep_server.providers.embedders.base import Vectors
from threadkeep_server.search.ranking.fusion import OF_MEANING, OF_SPELLING, Meaning, Strength, nearness
from threadkeep_server.search.ranking.languages import WITHOUT_A_SIGN, probe_answers, probe_questions
from threadkeep_server.search.vectors import normalize
from threadkeep_server.service.search import search_pipeline

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


@pytest.mark.parametrize("others", [3, 20])
async def test_hybrid_measures_likeness_from_the_median_of_the_scope(monkeypatch: pytest.MonkeyPatch, others: int) -> None:
    medians: list[float | None] = []

    def recorded(nearest: Sequence[Scored], strength: Strength, usual: float | None = None) -> Meaning:
        medians.append(usual)
        return nearness(nearest, strength, usual)

    monkeypatch.setattr(search_pipeline, "nearness", recorded)
    services = SearchServices(Meanings())
    await services.session("s1", "my automobile", *["my vessel"] * others)
    await services.embed_all()
    assert services.vectors is not None
    await services.find("car", mode=SearchMode.HYBRID)
    assert medians == [(await services.vectors.events(TENANT, ALICES, "car", ANY, 2)).usual]
    assert (medians[0] is None) == (others == 3)


class Alike(Meanings):
    """A model whose cosines are all close together. `knows`: it puts questions of all languages next to their answers."""

    def __init__(self, *, knows: bool) -> None:
        super().__init__("alike", known=False)
        pairs = zip(probe_questions(), probe_answers(), strict=True)
        self._subjects = {text: number for number, pair in enumerate(pairs) for text in pair} if knows else {}

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        own = await super().embed(texts, query=query)
        subjects = np.zeros((len(texts), len(probe_questions())), np.float32)
        for row, text in enumerate(texts):
            if text in self._subjects:
                subjects[row, self._subjects[text]] = 0.5
        vectors = normalize(np.hstack([np.full((len(texts), 1), 2.0), own, subjects]))
        self.dimension = vectors.shape[1]
        return vectors


@pytest.mark.parametrize(
    ("knows", "share", "without_median"), [(True, OF_MEANING, OF_MEANING), (False, 0.0, WITHOUT_A_SIGN * OF_MEANING)]
)
async def test_likeness_counts_in_full_where_the_model_knows_the_language_however_close_its_cosines(
    knows: bool, share: float, without_median: float
) -> None:
    services = SearchServices(Alike(knows=knows))
    await services.session("s1", *["one car and another car"] * 20)
    await services.embed_all()
    assert services.vectors is not None
    usual = (await services.vectors.events(TENANT, ALICES, "which car is it", ANY, 2)).usual
    assert usual is not None
    assert usual > (await services.model.scale()).border
    assert await services.vectors.strength("which car is it", usual) == Strength(share)
    assert await services.vectors.strength("which car is it", None) == Strength(without_median)


async def test_an_embedder_of_spellings_knows_no_languages_and_counts_in_full_without_a_median() -> None:
    services = SearchServices(Meanings("hashing-v1-68"))
    assert services.vectors is not None
    assert await services.vectors.strength("which car is it", None) == Strength(OF_SPELLING, spelling=True)

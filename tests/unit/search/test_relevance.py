"""What hits score, and where an answer ends."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from threadkeep_server.domain.model import POSITION_STEP
from threadkeep_server.domain.search import Candidate, Candidates, Scored, Texts
from threadkeep_server.providers.embedders.hashing import HashingEmbedder
from threadkeep_server.search.analysis.terms import words_of
from threadkeep_server.search.query import parse
from threadkeep_server.search.ranking.fusion import recency
from threadkeep_server.search.ranking.relevance import QUESTIONS, TEXTS, UNRELATED, CosineScale, answering, cosine_scale
from threadkeep_server.search.ranking.scoring import rank


def relevance(question: str, *said: str, documents: int = 0) -> dict[str, float]:
    """Of what was said in one session, by its text. `documents`: how many there are in the scope."""
    found, frequencies = [], dict[str, int]()
    for number, text in enumerate(said, 1):
        words = words_of(Texts(text, "", "", ""), 0)
        for term in {term for field in words for term in field}:
            frequencies[term] = frequencies.get(term, 0) + 1
        joined = "\n".join(" ".join(field) for field in words)
        found.append(Candidate(number, 1, number * POSITION_STEP, 0, 1, "", joined))
    ranked = rank(parse(question, 0), Candidates(found, documents or len(found), frequencies))
    return {said[each.key - 1]: each.relevance for each in ranked}


def test_a_document_with_every_word_of_the_question_is_1() -> None:
    assert relevance("Who waters the plants?", "Ines waters the plants on Friday") == {
        "Ines waters the plants on Friday": pytest.approx(1.0)
    }


def test_coverage_is_the_share_of_the_words_even_in_a_single_document() -> None:
    found = relevance("green tea and biscuits", "likes green tea")
    assert 0.5 < found["likes green tea"] < 0.7


def test_a_rare_word_counts_more_than_one_that_many_documents_have() -> None:
    found = relevance("tea kayak", "tea", "tea again", "more tea", "a kayak", documents=4)
    assert found["a kayak"] > found["tea"]


def test_a_direct_neighbor_has_half_the_relevance() -> None:
    found = relevance("kayak?", "Where is the kayak?", "In the shed.", "Good.", "Yes.")
    assert (found["Where is the kayak?"], found["In the shed."]) == (pytest.approx(1.0), pytest.approx(0.5))
    assert found["Yes."] == 0.0
    assert relevance("kayak", "Where is the kayak?", "In the shed.")["In the shed."] == 0.0, "keywords are no question"


def test_cjk_pairs_across_words_count_less() -> None:
    found = relevance("大明的狗叫什么名字?", "我的狗叫豆豆。")
    assert found["我的狗叫豆豆。"] > 0.3


def test_a_question_without_common_words_scores_0() -> None:
    assert relevance("quantum entanglement", "likes green tea") == {"likes green tea": 0.0}


def test_fusing_keeps_the_greater_relevance_and_recency_does_not_change_it() -> None:
    scored = [Scored(1, 9.0, 0.4), Scored(2, 8.0, 0.7)]
    assert {each.key: each.relevance for each in recency(scored, {2: 0}, 0, 1, 1.0)} == {1: 0.4, 2: 0.7}


def test_a_query_of_stop_words_is_answered_by_what_has_any_of_them() -> None:
    found = relevance("What did he do then?", "he slept", "he ate", "he ran")
    assert min(found.values()) > UNRELATED


def test_without_a_floor_an_unrelated_best_hit_empties_the_result() -> None:
    assert answering([Scored(1, 9.0, UNRELATED - 0.001), Scored(2, 8.0, 0.0)], None) == []
    assert answering([], None) == []


def test_without_a_floor_hits_far_below_the_best_are_omitted() -> None:
    scored = [Scored(1, 9.0, 0.1), Scored(2, 8.0, 0.8), Scored(3, 7.0, 0.01), Scored(4, 6.0, 0.0)]
    assert [each.key for each in answering(scored, None)] == [1, 2]


def test_a_score_floor_keeps_hits_that_reach_it_and_0_disables_it() -> None:
    scored = [Scored(1, 9.0, 0.1), Scored(2, 8.0, 0.8), Scored(3, 7.0, 0.0)]
    assert [each.key for each in answering(scored, 0.8)] == [2]
    assert answering(scored, 0.0) == scored


def test_cosines_are_read_on_the_scale_of_their_embedder() -> None:
    scale = CosineScale(0.5, 0.7)
    assert [round(scale.relevance(each), 3) for each in (-1, 0.5, 0.6, 0.7, 0.85, 1)] == [0, 0, 0.05, 0.1, 0.55, 1]


def test_a_model_that_takes_most_of_a_scope_for_related_is_not_certain() -> None:
    scale = CosineScale(0.1, 0.5)
    assert [round(scale.certainty(usual), 2) for usual in (None, -0.2, 0.1, 0.4, 0.5, 0.9)] == [1, 1, 1, 0.5, 0, 0]


@pytest.mark.parametrize("alike", [0.0, 1.0])
def test_an_embedder_with_equal_vectors_for_all_texts_has_a_scale(alike: float) -> None:
    vectors = np.full((4, 1), alike, np.float32)
    scale = cosine_scale(vectors, vectors)
    assert scale.mean < scale.border < 1
    assert scale.relevance(1.0) == 1.0


def test_the_hashing_embedders_scale_separates_unrelated_texts_from_typos() -> None:
    embedder = HashingEmbedder()

    def cosine(one: str, other: str) -> float:
        return float(embedder.vector(one) @ embedder.vector(other))

    questions, texts = (asyncio.run(embedder.embed(some)) for some in (QUESTIONS, TEXTS))
    scale = cosine_scale(questions, texts)
    assert scale.relevance(cosine("What is the capital of Mongolia?", "The dog is at the vet.")) < UNRELATED
    assert scale.relevance(cosine("dishwaser guarante", "the dishwasher's guarantee")) > 3 * UNRELATED

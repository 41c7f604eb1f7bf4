"""Laws of ranking for any question and any candidates."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.runs.thoroughness import examples
from tests.unit.search.ranking_cases import candidate
from threadkeep_server.domain.search import Candidate, Candidates
from threadkeep_server.search.analysis.terms import QUESTION
from threadkeep_server.search.intent import Intent
from threadkeep_server.search.query import Query
from threadkeep_server.search.ranking import term_hits
from threadkeep_server.search.ranking.fusion import Meaning
from threadkeep_server.search.ranking.scoring import rank

WORDS = st.sampled_from(["tea", "cake", "ann", "bob", "京都", "ü", "x", "y", "z"])
TEXT = st.lists(WORDS, max_size=6).map(" ".join)


@st.composite
def candidates(draw: st.DrawFn) -> list[Candidate]:
    keys = draw(st.lists(st.integers(1, 99), unique=True, max_size=12))
    return [
        candidate(
            key,
            draw(TEXT),
            session=draw(st.integers(1, 3)),
            seq=draw(st.integers(1, 5)),
            time=draw(st.integers(-5, 5)),
            author=draw(st.sampled_from(["", "Ann", "Bob Lee"])),
            fields={"results": draw(TEXT), "dates": draw(st.sampled_from(["", QUESTION]))},
        )
        for key in keys
    ]


@st.composite
def questions(draw: st.DrawFn) -> Query:
    phrases = draw(st.lists(st.lists(WORDS, min_size=1, max_size=3).map(tuple), max_size=2))
    terms = {word: draw(st.floats(0, 3)) for word in draw(st.lists(WORDS, max_size=4))}
    names = frozenset(draw(st.lists(WORDS, max_size=2)))
    spans = tuple(draw(st.lists(st.just((-1, 2)), max_size=1)))
    intent = Intent(draw(st.integers(0, 2)), draw(st.booleans()), draw(st.booleans()))
    return Query("", terms, tuple(phrases), names, spans, speakers=names, intent=intent)


@settings(max_examples=examples(150))
@given(questions(), candidates(), st.dictionaries(st.integers(1, 99), st.floats(0, 1), max_size=5), st.booleans(), st.randoms())
def test_scores_are_finite_ordered_and_independent_of_the_candidate_order(
    query: Query, found: list[Candidate], near: dict[int, float], spelling: bool, chance: random.Random
) -> None:
    meaning = Meaning(near, spelling)
    frequencies = dict.fromkeys(query.terms, 50)
    first = rank(query, Candidates(found, 40, frequencies), meaning=meaning)
    assert sorted(scored.key for scored in first) == sorted(one.key for one in found)
    assert all(math.isfinite(scored.score) and scored.score >= 0 for scored in first)
    assert first == sorted(first, key=lambda scored: (-scored.score, -scored.key))
    again = list(found)
    chance.shuffle(again)
    assert rank(query, Candidates(again, 40, frequencies), meaning=meaning) == first


def counted(words: Sequence[str], terms: Sequence[str]) -> list[list[int]]:
    return [[sum(field.split().count(term) for field in one.split("\n")) for one in words] for term in terms]


@settings(max_examples=examples(150))
@given(st.lists(st.lists(TEXT, min_size=5, max_size=5).map("\n".join), min_size=1, max_size=6))
def test_counting_is_that_of_plain_python(words: list[str]) -> None:
    terms = ["tea", "京都", "ü", "absent", "te"]
    tokens = term_hits.read(words)
    hits = term_hits.find(tokens, term_hits.hashes(terms))
    assert term_hits.count(hits, len(terms), len(words), [1] * 5).tolist() == counted(words, terms)
    assert tokens.lengths.tolist() == [[len(field.split()) for field in one.split("\n")] for one in words]


@settings(max_examples=examples(50))
@given(st.lists(st.lists(TEXT, min_size=5, max_size=5).map("\n".join), min_size=2, max_size=6), st.data())
def test_terms_that_are_read_in_two_parts_are_those_of_the_whole(words: list[str], data: st.DataObject) -> None:
    cut = data.draw(st.integers(1, len(words) - 1))
    whole, parts = term_hits.read(words), term_hits.joined(term_hits.read(words[:cut]), term_hits.read(words[cut:]))
    for name in ("hashes", "field", "lengths"):
        assert getattr(parts, name).tolist() == getattr(whole, name).tolist()


def test_texts_longer_than_a_block_are_read_the_same() -> None:
    long = " ".join(f"w{number}" for number in range(80_000))
    endless = "e" * 300_000
    tokens = term_hits.read([f"{long}\n\n\n\n", f"w7 {endless} last\n\n\n\n"])
    hits = term_hits.find(tokens, term_hits.hashes(["w7", "w79999", "last", endless]))
    assert term_hits.count(hits, 4, 2, [1] * 5).tolist() == [[1, 1], [1, 0], [0, 1], [0, 1]]
    numbers = term_hits.hashes([f"w{number}" for number in range(80_000)])
    assert len(set(numbers.tolist())) == 80_000
    assert (tokens.hashes[:80_000] == numbers).all()


def test_terms_at_every_place_of_a_block_have_the_same_number() -> None:
    padding = range(65_520, 65_552)
    tokens = [term_hits.read([f"{'p' * length} tea cake\n\n\n\n"]).hashes[1:] for length in padding]
    assert {tuple(pair.tolist()) for pair in tokens} == {tuple(term_hits.hashes(["tea", "cake"]).tolist())}

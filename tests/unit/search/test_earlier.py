"""The terms of the version before: a question finds by them what the index has with them."""

from __future__ import annotations

import pytest

from threadkeep_server.search.analysis.analyzer import query_tokens
from threadkeep_server.search.analysis.earlier import earlier_forms
from threadkeep_server.search.query import parse

BEFORE = {
    "broken children's theatre": "broken children theatr",
    "the colour of women": "the colour of women",
    "organisation and analyses": "organis and analys",
    "C++ and C#": "c and",
    "3.5GB of RAM": "3\ue0005gb 3 5gb 5 gb of ram",
    "10k users, 1.5M rows": "10k 10 k user 1\ue0005m 1 5m 5 m row",
    "1,200GB": "1\ue000200gb 1 200gb 200 gb",
    "קראתי את הספר והבית": "קראתי את הספר והבית",
    "ज़िंदगी लड़का": "ज़िंदग लड़क",
    "well-organised colour-coding": "wellorganis well organis colourcod colour code",
    "getColourNames": "getcolournam get colour name",
    "neighbours/behaviours.md": "neighboursbehavioursmd neighbour behavioursmd behaviour md",
    "deadbeef12 a1b2c3d4e5f": "deadbeef12 deadbeef 12 a1b2c3d4e5f",
    "👍 🇫🇷 fine": "fine",
    "it broke, didn't it": "it broke didnt",
    "Labour's programme": "labour programm",
    "kilometres 10:05 v1.2.3": "kilometr 10\ue00005 10 05 v1\ue0002\ue0003 v1 v 1 2 3",
    "thought_taught.spoken": "thoughttaughtspoken thought taught spoken",
    "東京の天気": "東京 の 天気",
    "ran 5km in 0.5h": "ran 5km 5 km in 0\ue0005h 0 5h h",
    "rebuilt@favour.org": "rebuiltfavourorg rebuilt favourorg favour org",
    "Женщины говорили": "женщин говор",
}
"""Questions, and their terms by version 3 of the analyzer, as it produced them."""


@pytest.mark.parametrize("question", BEFORE)
def test_every_term_of_the_version_before_is_a_form_or_a_term(question: str) -> None:
    tokens = list(query_tokens(question))
    forms = {form for token in tokens for form in earlier_forms(question[token.start : token.end])}
    assert set(BEFORE[question].split()) <= forms | {token.term for token in tokens}


def test_the_forms_of_a_question_are_those_that_differ_from_its_terms() -> None:
    assert parse("Who painted the broken colours of the theatre?", 0).earlier == {
        "break": ("broken",),
        "color": ("colour",),
        "theater": ("theatr",),
    }
    assert parse("Which lamp is in the kitchen?", 0).earlier == {}


def test_a_name_has_the_forms_of_speakers() -> None:
    query = parse("What did Men say to Anna?", 0)
    assert set(query.recruiting_earlier) <= set(query.recruiting)
    assert {"\ue105men", "men"} <= {form for forms in query.recruiting_earlier.values() for form in forms}

"""What people write in two forms is found first in the other one, among messages that share the rest of the question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from threadkeep_server.domain.search import Texts
from threadkeep_server.search.analysis.terms import words_of
from threadkeep_server.search.query import parse

from .ranking_cases import candidate, order


def first(question: str, *texts: str) -> str:
    """The text that RANKED finds first; of equals the later."""
    query = parse(question, 0)
    documents = [[" ".join(field) for field in words_of(Texts(text, "", "", ""), 0)] for text in texts]
    frequencies = Counter(term for fields in documents for term in {word for field in fields for word in field.split()})
    found = [
        candidate(key, fields[0], fields=dict(zip(("calls", "results", "media", "dates"), fields[1:], strict=True)))
        for key, fields in enumerate(documents)
    ]
    keys = order(query, found, documents=len(texts), frequencies={term: frequencies[term] for term in query.terms})
    return texts[keys[0]]


OTHERS: Sequence[str] = (
    "We write most of it in C, and one test in C#.",
    "The party was nice. 🎂",
    "The fix is commit a81c2f09d3, which we merged.",
    "मेरी किताब मेज़ पर है",
    "הבית ליד הים",
    "The image needs 3 GB, or 5 of them.",
    "About 10 people came, and k of them stayed.",
    "The team met at the office.",
    "He repaired the lamp in the hall.",
    "Every type and kind of thing is for sale, all kinds and types.",
)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Who knows C++?", "Ann is fluent in C++ by now."),
        ("Who knows C#?", "Ann is fluent in C# by now, not in C."),
        ("🎉", "Friday is the party 🎉🎉"),
        ("👍", "The party is on. 👍🏽"),
        ("What did f797273 change?", "The fix is commit f79727378f39ab12, which we merged."),
        ("What did f79727378f39ab12 change?", "The fix is commit f797273, which we merged."),
        ("क़लम", "मेरी कलम मेज़ पर है"),
        ("कलम", "मेरी क़लम मेज़ पर है"),
        ("מה עם הספר", "קראתי ספר על הים"),
        ("ספר על", "הספר ליד הבית"),
        ("Which image needs 3.5 GB?", "The image needs 3.5GB of disk."),
        ("Which image needs 3.5GB?", "The image needs 3.5 GB of disk."),
        ("10,000 people", "About 10k people came to see it."),
        ("10k people", "About 10,000 people came to see it."),
        ("Which organization met?", "The organisation met at the office."),
        ("our favourite color", "My favorite colour was at the office."),
        ("What broke in the hall?", "If the lamp breaks again, I leave the hall."),
        ("What breaks?", "The lamp in the hall is broken."),
        ("What kinds and types of fish are for sale?", "Fish: trout and pike."),
    ],
)
def test_the_other_form_is_found_first(question: str, text: str) -> None:
    assert first(question, text, *OTHERS) == text


@pytest.mark.parametrize(("question", "text"), [("How often?", "How often do you swim?"), ("how long", "How long is it?")])
def test_a_question_of_stop_words_finds_what_it_asks_for(question: str, text: str) -> None:
    assert first(question, text, *(f"How {word} do you do it?" for word in ("well", "much", "else"))) == text

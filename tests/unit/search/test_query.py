"""Parsing of questions, as of Wednesday, 17 May 2023."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep_server.domain.model import Role
from threadkeep_server.domain.search import Texts
from threadkeep_server.search.analysis.analyzer import index_terms
from threadkeep_server.search.analysis.terms import is_question, speaker_terms, words_of
from threadkeep_server.search.dates.mentions import DAY, MONTH, YEAR, document_dates
from threadkeep_server.search.intent import Intent
from threadkeep_server.search.query import MOST_TERMS, Query, parse

from .texts import texts

NOW = int(datetime(2023, 5, 17, 12, tzinfo=UTC).timestamp()) * 10**9
DAY_NS = 86_400 * 10**9


def words(query: Query) -> list[str]:
    """The terms that are no dates."""
    return [term for term in query.terms if term[0] not in (DAY, MONTH, YEAR)]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("What did Caroline say about the adoption agencies?", "carolin adopt agenc"),
        ("Where's my passport?", "passport"),
        ("What’s it like?", "what it like"),
        ("who is the who", "who is the"),
        ("Tell me about it", "tell"),
        ("What did Will do in the US?", "will us"),
        ("WHAT IS IT ABOUT ROME", "rome"),
        ("running runs ran", "run"),
        ("What kinds and types of things?", "what kind and type of thing"),
        ("What kinds and types of tea", "tea"),
        ("How often and how long did it rain?", "often long rain"),
        ("the owner of the typing course", "owner type cours"),
        ("a state-of-the-art iPhone", "stateoftheart state art iphon phone"),
        ("昨日の会議は?", "昨日 の 会議 は"),
        ("Wo ist die Straße nach Zürich", "wo ist die strass nach zurich"),
    ],
)
def test_a_question_is_reduced_to_its_content_words(text: str, terms: str) -> None:
    assert words(parse(text, NOW)) == terms.split()


@pytest.mark.parametrize("text", ["", "   \n\t", "?!…", "\x00", "“”", '""', "\ue100\ue101"])
def test_a_question_without_a_word_has_nothing(text: str) -> None:
    assert parse(text, NOW) == Query(text=text, terms={})


def test_a_part_of_an_address_counts_less_than_the_whole() -> None:
    weights = parse("user@example.com hotel", NOW).terms
    assert weights["userexamplecom"] == weights["hotel"] == 1
    assert 0 < weights["exampl"] < 1


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("What did I say about my knee?", Intent(Role.USER)),
        ("What did you recommend to me?", Intent(Role.ASSISTANT)),
        ("Wie heißt mein Zahnarzt?", Intent(Role.USER)),
        ("我的牙医叫什么?", Intent(Role.USER)),
        ("How many jars did Ann fill?", Intent(number=True)),
        ("When is the ferry?", Intent(number=True)),
        ("Where does Bo live now?", Intent(present=True)),
        ("Who is Bo?", Intent()),
        ("How did a ton of sand get there?", Intent()),
        ("Quel est ton dentiste ?", Intent(Role.ASSISTANT)),
        ("Quel est le prix du billet ?", Intent()),
        ("Was hast du empfohlen?", Intent(Role.ASSISTANT)),
        ("太郎君は何を買った?", Intent()),
        ("君は何を買った?", Intent(Role.ASSISTANT)),
        ("他几乎忘了什么?", Intent()),
        ("他有几本书?", Intent(number=True)),
        ("the intention of mine workers", Intent(Role.USER)),
    ],
)
def test_what_a_question_is_after(text: str, intent: Intent) -> None:
    assert parse(text, NOW).intent == intent


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Which day?", True),
        ("Which day? ", True),
        ("哪一天？", True),
        ("I see. And how is the job", True),
        ("is Sergeant still there? 🐦", True),
        ("do you need it", True),
        ("What a day. I slept.", False),
        ("She asked which day. I said the 14th.", False),
        ("", False),
    ],
)
def test_messages_that_end_with_a_question(text: str, found: bool) -> None:
    assert is_question(text) is found


def test_a_repeated_word_has_its_highest_weight() -> None:
    assert parse("user getUser", NOW).terms["user"] == parse("getUser user", NOW).terms["user"] == 1


@pytest.mark.parametrize(
    ("text", "speakers"),
    [
        ("What did Caroline tell Mel?", "carolin mel"),
        ("What did the planner criticize?", "planner"),
        ("What is the plan of Ann?", "plan ann"),
        ("What did we plan?", ""),
    ],
)
def test_names_and_what_follows_an_article_may_be_speakers(text: str, speakers: str) -> None:
    query = parse(text, NOW)
    assert query.speakers == set(speakers.split())
    assert query.recruiting == (*query.terms, *speaker_terms([term for term in query.terms if term in query.speakers]))
    assert set(query.recruiting) - set(query.terms) == set(words_of(Texts("", "", "", ""), NOW, speakers).dates) - set(
        words_of(Texts("", "", "", ""), NOW).dates
    )


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ('who said "out of the blue" and "so be it"?', ["out of the blue", "so be it"]),
        ("“quiet river” „stiller Fluss“ «le fleuve» ＂x＂", ["quiet river", "stiller fluss", "le fleuv", "x"]),
        ("「北京大学」『東京タワー』", ["北京 京大 大学", "東京", "タワ ワー"]),
        ('"buy iPhone手机 now"', ["buy iphon i phone", "手机", "now"]),
        ('an "open quote', []),
        ('it is 5" and', []),
        ('"a" "a" "?"', ["a"]),
    ],
)
def test_quoted_words_are_a_phrase(text: str, phrases: list[str]) -> None:
    assert [" ".join(phrase) for phrase in parse(text, NOW).phrases] == phrases


@pytest.mark.parametrize(
    "phrase", ["quiet river", "example.com address", "it's o'clock", "北京大学", "user name", "1,000 trees"]
)
def test_a_document_holds_the_terms_of_its_phrase_one_after_the_other(phrase: str) -> None:
    (sought,) = parse(f'"{phrase}"', NOW).phrases
    document = index_terms(f"We know: the {phrase}, and more.")
    assert list(sought) in [document[at : at + len(sought)] for at in range(len(document))]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("What did Caroline tell Melanie?", "carolin melani"),
        ("Caroline said what?", "carolin"),
        ("Find the hotel", ""),
        ("Considering the hotel", ""),
        ("where did I go in May with May", "may"),
        ("see @alice or bob", "alic"),
        ("mail bob@alice", ""),
        ("Which plan does OpenAI have? Tell Ann.", "openai ann"),
        ("What Is The Best Hotel", "best hotel"),
        ("what did caroline do last Friday", ""),
        ("ask O'Brien or J. McDonald", "obrien brien j mcdonald"),
        ("кто такой Иван?", "ива"),
        ("谁是李明?", ""),
    ],
)
def test_words_capitalized_inside_a_sentence_are_names(text: str, names: str) -> None:
    assert parse(text, NOW).names == frozenset(names.split())


def test_a_date_is_searched_as_a_span_and_as_terms_of_lower_weight() -> None:
    query = parse("What did we do yesterday?", NOW)
    today = NOW // DAY_NS * DAY_NS
    assert query.spans == ((today - DAY_NS, today - 1),)
    assert query.terms == {"yesterday": 0.5, DAY + "20230516": 0.6, MONTH + "202305": 0.4, YEAR + "2023": 0.2}


def test_questions_and_documents_share_the_terms_of_a_day() -> None:
    said = int(datetime(2023, 5, 10, 9, tzinfo=UTC).timestamp()) * 10**9
    assert DAY + "20230509" in parse("where were we on 9 May 2023", NOW).terms
    assert DAY + "20230509" in document_dates(["We went to the lake yesterday"], said)
    assert DAY + "20230510" in parse("what was it last week?", NOW).terms


def test_terms_are_bounded() -> None:
    query = parse(" ".join(f"word{number}x in 20{number % 100:02}" for number in range(1000)), NOW)
    assert len(query.terms) == MOST_TERMS


@given(texts, st.integers(-(2**70), 2**70))
def test_any_text_is_a_question(text: str, now: int) -> None:
    query = parse(text, now)
    assert query.text == text
    assert len(query.terms) <= MOST_TERMS
    assert all(0 < weight <= 1 for weight in query.terms.values())
    assert set(words(query)) <= set(index_terms(text))
    assert query.names <= query.terms.keys()
    assert query.speakers <= query.terms.keys()
    assert all(phrase and all(phrase) for phrase in query.phrases)
    assert all(first < last for first, last in query.spans)
    assert bool(words(query)) == bool(index_terms(text))

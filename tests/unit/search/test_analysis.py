"""What terms a text has: one case a rule."""

from __future__ import annotations

import pytest

from threadkeep_server.search.analysis import analyzer
from threadkeep_server.search.analysis.analyzer import EMOJI, index_terms
from threadkeep_server.search.analysis.normalize import JOINT, LONGEST_TERM

from .texts import query_terms, tokens


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("running", "Runs"),
        ("broken", "breaks"),
        ("colonisation", "colonizing"),
        ("paralysing", "paralyze"),
        ("harbours", "harbor"),
        ("precisely", "precise"),
        ("क़लम", "कलम"),
        ("והספר", "ספר"),
        ("Caroline's", "CAROLINE"),
        ("Caroline’s", "caroline"),
        ("dogs'", "dog"),
        ("don't", "dont"),
        ("we'll", "we"),
        ("café", "cafe\u0301"),
        ("café", "CAFE"),
        ("Düsseldorf", "Dusseldorf"),
        ("Straße", "STRASSE"),
        ("İstanbul", "istanbul"),
        ("ISTANBUL", "ıstanbul"),
        ("Łódź", "lodz"),
        ("Ａｂｃ", "abc"),
        ("ﬁn", "fin"),
        ("so\u00adft", "soft"),
        ("книги", "КНИГА"),
        ("ёлка", "елка"),
        ("за\u0301мок", "замок"),
        ("γάτες", "ΓΆΤΑ"),
        ("Σίσυφος", "ΣΙΣΥΦΟΣ"),
        ("الكِتَابُ", "كتاب"),
        ("كتــاب", "كتاب"),
        ("أحمد", "احمد"),
        ("שָׁלוֹם", "שלום"),
        ("किताबें", "किताब"),
        ("٢٠٢٣", "2023"),
        ("１２", "12"),
        ("1,000", "1000"),
        ("ｶﾞ", "ガ"),
        ("か\u3099", "が"),
        ("\u1112\u1161\u11ab", "한"),
        ("پنجره‌ها", "پنجرهها"),
    ],
)
def test_spellings_of_one_word_are_one_term(one: str, other: str) -> None:
    assert index_terms(one) == index_terms(other) != []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("が", "か"),
        ("hour", "hor"),
        ("raise", "raze"),
        ("הם", "ם"),
        ("C++", "C"),
        ("パ", "ハ"),
        ("й", "и"),
        ("दिन", "दान"),
        ("ที่", "ท"),
        ("3.14", "314"),
        ("1.2.3", "12.3"),
        ("1,000", "1.000"),
    ],
)
def test_distinguishing_marks_are_kept(one: str, other: str) -> None:
    assert set(index_terms(one)).isdisjoint(index_terms(other)) or index_terms(one)[0] != index_terms(other)[0]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("getUserName", "getusernam get user name"),
        ("XMLParser", "xmlparser xml parser"),
        ("URLs", "url"),
        ("iPhone", "iphon i phone"),
        ("snake_case", "snakecas snake case"),
        ("__init__", "init"),
        ("e-mails", "email e mail"),
        ("user@example.com", "userexamplecom user examplecom exampl com"),
        ("docs/api.md", "docsapimd doc apimd api md"),
        (r"C:\temp", "ctemp c temp"),
        ("https://a.io/x", "httpsaiox https aio a io x"),
        ("BA117", "ba117 ba 117"),
        ("7th", "7th 7"),
        ("f79727378f39", "f79727378f39 f797273"),
        ("f7972737", "f7972737 f797273 f 7972737"),
        ("C++, C#, i++", "cplusplus c csharp c iplusplus i"),
        ("C+++ issue# C#x", "c issu c x"),
        ("3.5GB", "3.5gb 3.5 gb"),
        ("10k 2.5M 10m", "10k 10000 2.5m 2500000 10m 10 m"),
        ("l'homme", "lhomm homm"),
        ("O'Brien", "obrien brien"),
        ("rock'n'roll", "rocknrol rock roll"),
        ("v1.2.3", "v1.2.3 v1 v 1 2 3"),
        ("3.14", "3.14"),
        ("1,234,567.5", "1234567.5"),
        ("10:05", "10.05 10 05"),
        ("2023-05-07", "2023.05.07 2023 05 07"),
        ("iPhone手机", "iphon i phone 手 机 手机"),
        ("one.Two", "onetwo one two"),
    ],
)
def test_joined_words_are_kept_and_split(text: str, terms: str) -> None:
    assert index_terms(text) == terms.replace(".", JOINT).split()


def test_a_part_of_a_joined_word_finds_it() -> None:
    """A question for a part has the term that the whole has for it."""
    for whole, part in [
        ("mail user@example.com", "example.com"),
        ("see docs/api.md", "api.md"),
        ("GPT-4", "GPT4"),
        ("getUserNames", "names"),
    ]:
        assert query_terms(part)[0] in index_terms(whole)


@pytest.mark.parametrize(
    ("text", "document", "question"),
    [
        ("北京大学", "北 京 大 学 北京 京大 大学", "北京 京大 大学"),
        ("我", "我", "我"),
        ("今日は", "今 日 今日 は", "今日 は"),
        ("東京タワー", "東 京 東京 タ ワ ー タワ ワー", "東京 タワ ワー"),
        ("한국어 말", "한 국 어 한국 국어 말", "한국 국어 말"),
        ("ที่นี่", "ที่ นี่ ที่นี่", "ที่นี่"),
        ("北 京", "北 京", "北 京"),
        ("人々", "人 々 人々", "人々"),
    ],
)
def test_unspaced_scripts_are_characters_and_pairs(text: str, document: str, question: str) -> None:
    assert index_terms(text) == document.split()
    assert query_terms(text) == question.split()


def test_emoji_are_terms_without_the_tone_of_skin() -> None:
    assert index_terms("🎉 👍🏽❤️") == [f"{EMOJI}1f389", f"{EMOJI}1f44d", f"{EMOJI}2764"]
    assert index_terms("👩‍👩‍👧") == [f"{EMOJI}1f469", f"{EMOJI}1f469", f"{EMOJI}1f467"]
    assert index_terms("🇩🇪") == [f"{EMOJI}1f1e91f1ea"]


@pytest.mark.parametrize("text", ["", " \n", "?!…", "🏽", "+++", "\x00", "\u0301", "ـ", "\ue100", "\u200b", "'", "__", "・"])
def test_a_text_without_a_word_has_no_terms(text: str) -> None:
    assert index_terms(text) == query_terms(text) == []


def test_nul_separates_words() -> None:
    assert index_terms("red\x00green") == ["red", "green"]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("die Straße İn", [("die", "die"), ("strass", "Straße"), ("in", "İn")]),
        ("cafe\u0301 ok", [("cafe", "cafe\u0301"), ("ok", "ok")]),
        ("see Caroline’s", [("see", "see"), ("carolin", "Caroline")]),
        ("ﬁn 1,000 x", [("fin", "ﬁn"), ("1000", "1,000"), ("x", "x")]),
        ("é東京", [("e", "é"), ("東", "東"), ("京", "京"), ("東京", "東京")]),
        ("か\u3099は", [("が", "か\u3099"), ("は", "は"), ("がは", "か\u3099は")]),
    ],
)
def test_places_are_those_of_the_original_text(text: str, places: list[tuple[str, str]]) -> None:
    assert [(token.term, text[token.start : token.end]) for token in tokens(text)] == places


def test_a_long_term_is_cut() -> None:
    assert index_terms("a" * 1000) == ["a" * LONGEST_TERM]
    assert index_terms("é" * 1000) == ["e" * LONGEST_TERM]
    assert all(len(term) <= LONGEST_TERM for term in index_terms("long-word." * 50 + "は" + "\u3099" * 500 + "は"))


def test_a_long_text_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(index_terms("a " * 150_000)) == analyzer.MOST_TERMS
    assert len(index_terms("北京。" * 50_000)) == analyzer.MOST_TERMS
    for endless in ("1/", "は", "a'", "ก", "a"):
        assert len(index_terms(endless * 500_000)) <= analyzer.MOST_TERMS
    monkeypatch.setattr(analyzer, "MOST_CHARACTERS", 3)
    assert index_terms("a b c") == ["a", "b"]


def test_plain_and_decorated_neighbors_change_no_term() -> None:
    """Texts of ASCII take a way of their own; it leads to the same terms."""
    for text in ["Caroline's dogs don't run", "getUserName user@example.com v1.2.3 1,000 https://a.io/x", "a_b __c__ d--e"]:
        assert index_terms(text + " ж")[:-1] == index_terms(text)

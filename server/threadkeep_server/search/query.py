"""Analysis of a query: terms and their weights, phrases, names, speakers and times."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from .analysis.analyzer import Token, query_tokens
from .analysis.earlier import earlier_forms
from .analysis.scripts import Script, script_of
from .analysis.stopwords import NO_NAMES, is_stop_word
from .analysis.terms import speaker_terms
from .dates.calendar import nanoseconds
from .dates.mentions import DAY, MONTH, YEAR, Mention, date_terms, mentions
from .intent import NOTHING, Intent, intent_of

MOST_TERMS = 64
MOST_CHARACTERS = 10_000
"""Characters of a query that are read; the rest is ignored."""

# Weights relative to a word of the query, which has 1.
_OF_A_PART = 0.7  # a part of a joined word: the whole is more specific
_OF_A_MENTION = 0.5  # words of a date, which has terms of its own
_OF_HIRAGANA = 0.5  # mostly grammar
_MOST_PHRASES = 16
_QUOTED = re.compile('"[^"]+"|＂[^＂]+＂|[“”„‟][^“”„‟]+[“”‟]|«[^«»]+»|»[^«»]+«|「[^「」]+」|『[^『』]+』|〝[^〝〞〟]+[〞〟]')
_SENTENCE_END = re.compile(r"[.!?。！？:\n]")
_MENTIONED = re.compile(r"(?<!\w)@$")
_QUESTION_MARKS = ("?", "？", "؟", ";")
_MEASURES = ("long", "often")
_OF_DATES = {DAY: 0.6, MONTH: 0.4, YEAR: 0.2}


@dataclass(frozen=True, slots=True)
class Query:
    """An analyzed query. A query without words has no terms.

    - terms: analyzed term -> weight, in the order of the query, followed by the terms of its dates; at most MOST_TERMS. Stop
      words are dropped unless there are no other words.
    - speakers: terms that may be the name of an author: names, and what follows "the" ("the planner").
    - phrases: texts in double quotes of any kind, as runs of terms with stop words. The terms of a phrase are consecutive in a
      document, so a phrase is cut at the ends of a run of an unspaced script.
    - names: the terms that look like a name or a part of one.
    - spans: the mentioned times, in nanoseconds since 1970 UTC: (first, last), both inclusive.
    - is_question: whether it is a sentence, not keywords: it ends with a question mark, or has stop words among others.
    - intent: what it is after.
    - vague: whether it has nothing but stop words.
    - earlier: the forms that earlier versions of the analyzer gave these terms, where they differ from all of them.
    """

    text: str
    terms: Mapping[str, float]
    phrases: tuple[tuple[str, ...], ...] = ()
    names: frozenset[str] = frozenset()
    spans: tuple[tuple[int, int], ...] = ()
    is_question: bool = False
    speakers: frozenset[str] = frozenset()
    intent: Intent = NOTHING
    vague: bool = False
    earlier: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def recruiting_earlier(self) -> Mapping[str, tuple[str, ...]]:
        """The earlier forms of the terms that select candidates."""
        named = {term: forms for term, forms in self.earlier.items() if term in self.speakers}
        said = {speaker_terms([term])[0]: tuple(speaker_terms([*forms])) for term, forms in named.items()}
        return {**self.earlier, **said}

    @property
    def recruiting(self) -> tuple[str, ...]:
        """The terms that select candidates: with those of the events of its speakers, which have no weight of their own."""
        return (*self.terms, *speaker_terms([term for term in self.terms if term in self.speakers]))


class _Word(NamedTuple):
    """A word of the query: its tokens, that of the whole word first."""

    text: str
    tokens: Sequence[Token]

    @property
    def start(self) -> int:
        return self.tokens[0].start


def parse(text: str, now_ns: int) -> Query:
    """Analyzes a query. Relative times ("last week") are resolved against `now_ns`, in UTC. Accepts any text."""
    read = text[:MOST_CHARACTERS]
    mentioned = mentions(read, now_ns)
    words = list(_words(read))
    names = _Names(read, words, mentioned)
    kept = names.starts | _measures(words)
    words_used = [word for word in words if word.start in kept or not is_stop_word(_plain(word.text))] or words
    terms: dict[str, float] = {}
    for word in words_used:
        for token in word.tokens:
            if token is not word.tokens[0] and is_stop_word(_plain(read[token.start : token.end])):
                continue
            terms[token.term] = max(terms.get(token.term, 0.0), _weight(token, word, mentioned))
    days = [(mention.first_day, mention.last_day) for mention in mentioned]
    of_dates = date_terms(days)[: MOST_TERMS // 4]
    wanted = dict(list(terms.items())[: MOST_TERMS - len(of_dates)])
    return Query(
        text=text,
        terms=wanted | {term: _OF_DATES[term[0]] for term in of_dates},
        phrases=_phrases(read),
        names=frozenset(names.terms & wanted.keys()),
        spans=tuple(dict.fromkeys(nanoseconds(*span) for span in days)),
        is_question=len(words_used) < len(words) or read.rstrip().endswith(_QUESTION_MARKS),
        speakers=frozenset((names.terms | _after_the(words)) & wanted.keys()),
        vague=bool(words) and not any(word.start in kept or not is_stop_word(_plain(word.text)) for word in words),
        intent=intent_of(read, frozenset(_plain(word.text) for word in words)),
        earlier=_earlier(read, words_used, wanted),
    )


def _earlier(text: str, words: Sequence[_Word], terms: Mapping[str, float]) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for token in (token for word in words for token in word.tokens if token.term in terms):
        for form in earlier_forms(text[token.start : token.end]):
            if form not in terms and not is_stop_word(form):
                found.setdefault(token.term, {})[form] = None
    return {term: tuple(forms) for term, forms in found.items()}


def _words(text: str) -> Iterator[_Word]:
    """Yields tokens by word: a token within the one before is a part of it. In unspaced scripts each pair is a word."""
    word: list[Token] = []
    for token in query_tokens(text):
        if word and token.end > word[0].end:
            yield _Word(text[word[0].start : word[0].end], word)
            word = []
        word.append(token)
    if word:
        yield _Word(text[word[0].start : word[0].end], word)


def _plain(text: str) -> str:
    return text.casefold().replace("’", "'")


def _weight(token: Token, word: _Word, mentioned: Sequence[Mention]) -> float:
    weight = 1.0 if token is word.tokens[0] else _OF_A_PART
    if any(mention.start <= token.start and token.end <= mention.end for mention in mentioned):
        weight *= _OF_A_MENTION
    if all(script_of(character) is Script.HIRAGANA for character in token.term):
        weight *= _OF_HIRAGANA
    return weight


def _after_the(words: Sequence[_Word]) -> frozenset[str]:
    """The words after "the": agents are often named by what they do."""
    return frozenset(word.tokens[0].term for before, word in pairwise(words) if _plain(before.text) == "the")


def _measures(words: Sequence[_Word]) -> set[int]:
    """The start offsets of what follows "how" in "how often" and "how long", which are all that the question is after."""
    return {word.start for before, word in pairwise(words) if _plain(before.text) == "how" and _plain(word.text) in _MEASURES}


def _phrases(text: str) -> tuple[tuple[str, ...], ...]:
    phrases: dict[tuple[str, ...], None] = {}
    for quoted in _QUOTED.finditer(text):
        run: list[Token] = []
        for token in query_tokens(quoted[0]):
            if run and not _same_run(run[-1], token):
                phrases[tuple(one.term for one in run)] = None
                run = []
            run.append(token)
        if run:
            phrases[tuple(one.term for one in run)] = None
    return tuple(phrase[:MOST_TERMS] for phrase in phrases)[:_MOST_PHRASES]


def _same_run(one: Token, other: Token) -> bool:
    if script_of(one.term[0]).unspaced or script_of(other.term[0]).unspaced:
        return other.start < one.end
    return True


class _Names:
    """The words of a query that look like a name: a capital inside a sentence, or at its beginning unless sentences often begin
    with that word; a capital within a word; @mentions. If every word has a capital, each counts as at a beginning."""

    def __init__(self, text: str, words: Sequence[_Word], mentioned: Sequence[Mention]) -> None:
        self._text = text
        self._mentioned = mentioned
        self._cased = any(word.text[0].islower() for word in words)
        self.terms: set[str] = set()
        self.starts: set[int] = set()
        """The start offsets of those words."""
        end = 0
        for word in words:
            if self._is_name(word, not end or bool(_SENTENCE_END.search(text, end, word.start))):
                self.starts.add(word.start)
                self.terms.add(word.tokens[0].term)
                self.terms.update(token.term for token in word.tokens[1:] if self._is_joined(token))
            end = word.tokens[0].end

    def _is_joined(self, part: Token) -> bool:
        """Whether the part is like Brien of O'Brien, not like Open of OpenAI."""
        around = self._text[max(part.start - 1, 0) : part.start] + self._text[part.end : part.end + 1]
        return self._text[part.start].isupper() and not any(map(str.isalnum, around))

    def _is_name(self, word: _Word, first: bool) -> bool:
        if _MENTIONED.search(self._text, max(word.start - 2, 0), word.start):
            return True
        if any(mention.start <= word.start < mention.end for mention in self._mentioned):
            return False
        if first or not self._cased:
            return word.text[0].isupper() and _plain(word.text) not in NO_NAMES
        return word.text != "I" and any(map(str.isupper, word.text))

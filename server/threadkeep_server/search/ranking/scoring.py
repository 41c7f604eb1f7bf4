"""Scores of candidates for a query: BM25 over weighted fields, signals from the question and from the conversation, and, if an
embedder is at hand, the likeness in meaning.

Each step is a function; `rank` calls them in order. A weight of 0 switches a step off. Constants are round numbers, chosen on
the development set (tests/recall_bench/development) and measured on the one next to it, which is held back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...domain.model import POSITION_STEP
from ...domain.search import Candidate, Candidates, Scored
from ..analysis.analyzer import index_terms
from ..analysis.scripts import script_of
from ..analysis.terms import QUESTION, speaker_terms
from ..query import Query
from . import term_hits
from .fusion import NO_MEANING, Meaning
from .relevance import UNRELATED
from .term_hits import FIELDS, Floats, Hits, Ints, Tokens


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of each step; 0 switches it off, at no cost. k1 > 0 and 0 <= b <= 1 are parameters of BM25."""

    text: float = 1.0
    calls: float = 0.25
    results: float = 0.5
    media: float = 0.75
    dates: float = 0.5
    k1: float = 0.9
    b: float = 0.75
    phrases: float = 2.0
    speaker: float = 2.0
    called: float = 0.5
    spans: float = 1.0
    role: float = 0.9
    number: float = 0.3
    present: float = 0.7
    meaning: float = 1.0
    lacking: float = 0.4
    neighbors: float = 0.4
    behind: float = 1.2
    answer: float = 0.4
    questions: float = 0.2
    session: float = 0.1

    @property
    def fields(self) -> tuple[float, ...]:
        """The weights of the fields, in the order of Words."""
        return self.text, self.calls, self.results, self.media, self.dates


DEFAULT = Weights()

REACH = 2.0
"""The distance, in events, up to which neighbors raise a candidate's score."""

_SESSION_BEST = 3
# A scope with fewer documents does not show how rare a word is; this number is assumed.
_FEWEST_DOCUMENTS = 50
# A pair of characters that no document contains usually spans two words.
_OF_UNKNOWN_PAIR = 0.4
_DIGIT = re.compile(r"\d")


class _Sessions(NamedTuple):
    """The sessions and seqs of the candidates, sorted by both, and the sort order. `follows`: for each but the first, whether
    it is directly behind the one before it."""

    session: Ints
    seq: Floats
    order: Ints
    follows: NDArray[np.bool_]


def rank(
    query: Query,
    candidates: Candidates,
    weights: Weights = DEFAULT,
    meaning: Meaning = NO_MEANING,
    tokens: Tokens | None = None,
) -> list[Scored]:
    """Returns the candidates, best first; of equals, the later key first. Scores are finite, and 0 or more. The relevance of a
    candidate is the share of the query that it contains, or half of the share that an adjacent candidate contains.

    `meaning`: counts before the context does: a list fused by ranks lets the weaker one decide half.

    `tokens`: the terms of the candidates, if they are known already."""
    found = candidates.found
    if not found:
        return []
    read = _Reading.of(query, candidates, weights, tokens or term_hits.read([each.words for each in found]))
    sessions = _in_sessions(read)
    by_term = _bm25(read)
    scores = by_term.sum(axis=0) + _lacking(by_term, read, sessions)
    scores += _phrases(query, read)
    scores += _spans(query, read)
    if meaning.near and weights.meaning:
        near = weights.meaning * np.array([meaning.near.get(key, 0.0) for key in read.keys.tolist()])
        scores /= float(scores.max()) or 1.0
        scores = np.maximum(scores, near) if meaning.spelling else scores + near
    # Twice: what a message lends to its neighbors counts by what it is itself, and then by what the neighbor is.
    expected = _expected(query, read)
    scores = _grouped(scores * expected, read, sessions) * expected
    relevance = np.maximum(_relevance(query, read, sessions), UNRELATED * read.named)
    order = np.lexsort((-read.keys, -scores))
    return [Scored(found[place].key, float(scores[place]), float(relevance[place])) for place in order.tolist()]


@dataclass(frozen=True, slots=True)
class _Reading:
    """The shared data of the steps: the candidates' terms, and the places of the query's terms. Matrices are terms x
    candidates. `named`: 1 for candidates whose speaker the query names."""

    found: Sequence[Candidate]
    tokens: Tokens
    place: dict[str, int]
    hits: Hits
    counts: Floats
    known: Floats
    documents: int
    rarity: Floats
    weights: Floats
    norm: Floats
    keys: Ints
    named: Floats
    use: Weights

    @classmethod
    def of(cls, query: Query, candidates: Candidates, use: Weights, tokens: Tokens) -> _Reading:
        found = candidates.found
        around = [term for phrase in query.phrases for term in phrase]
        place = {term: number for number, term in enumerate(dict.fromkeys([*query.terms, *around]))}
        hits = term_hits.find(tokens, term_hits.hashes(place)) if place else Hits(*(np.empty(0, np.int64) for _ in range(3)))
        counts = term_hits.count(hits, len(place), len(found), use.fields)
        known = np.array([candidates.frequencies.get(term, 0) for term in place], np.float64)
        counted = known.copy()
        norm = np.repeat(_length_norm(tokens, counts.sum(axis=0) > 0, use)[np.newaxis], max(len(place), 1), axis=0)
        speakers = [place[name] for name in query.speakers if name in place]
        named = _count_speakers(counts, counted, norm, speakers, list(place), candidates, use)
        seen = (counts > 0).sum(axis=1)
        documents = max(candidates.documents, len(found))
        return cls(
            found=found,
            tokens=tokens,
            place=place,
            hits=hits,
            counts=counts,
            known=np.maximum(known, seen),
            documents=documents,
            rarity=_rarity(np.maximum(counted, seen), documents),
            weights=np.array([query.terms.get(term, 0.0) for term in place], np.float64),
            norm=norm,
            keys=np.array([candidate.key for candidate in found], np.int64),
            named=named,
            use=use,
        )


def _length_norm(tokens: Tokens, matching: NDArray[np.bool_], use: Weights) -> Floats:
    """Returns the factor of BM25 by which long documents are held back. Those shorter than usual count as of the usual length:
    "yes" is no better an answer for being short. Usual is the median of those that contain a term: what joined as a neighbor,
    or for its meaning, does not change what words count."""
    lengths = tokens.lengths[:, : FIELDS - 1] @ np.array(use.fields[: FIELDS - 1])
    usual = max(float(np.median(lengths[matching])), 1.0) if matching.any() else 1.0
    return np.asarray(1 - use.b + use.b * np.maximum(lengths, usual) / usual, np.float64)


def _count_speakers(
    counts: Floats,
    frequencies: Floats,
    norm: Floats,
    names: Sequence[int],
    terms: Sequence[str],
    candidates: Candidates,
    use: Weights,
) -> Floats:
    """Counts authors as a field, whatever the length of the text: the person that a query names usually gave the answer. The
    name of a speaker is as frequent as that speaker's events, which the store has counted, up to a limit. Inside texts it is
    mostly a form of address, so it counts less there. Returns 1 for the candidates of such speakers."""
    named = np.zeros(len(candidates.found))
    if not names or not use.speaker:
        return named
    authors = [candidate.author for candidate in candidates.found]
    called = {author: frozenset(index_terms(author)) for author in set(authors)}
    for name in names:
        said = np.array([terms[name] in called[author] for author in authors], np.float64)
        if said.any():
            counts[name] = use.speaker * said + use.called * counts[name]
            seen = said.sum() if candidates.complete else said.mean() * candidates.documents
            spoken = max(candidates.frequencies.get(speaker_terms([terms[name]])[0], 0), seen)
            frequencies[name] = min(frequencies[name] + spoken, candidates.documents)
            norm[name] = 1.0
            named = np.maximum(named, said)
    return named


def _rarity(frequencies: Floats | float, documents: int) -> Floats:
    """Returns the inverse document frequency, never below 0: Robertson and Zaragoza, "The Probabilistic Relevance Framework:
    BM25 and Beyond" (2009), with Lucene's 1 added inside the logarithm."""
    within = np.minimum(np.asarray(frequencies, np.float64), documents)
    return np.log1p((documents - within + 0.5) / (within + 0.5))


def _bm25(read: _Reading) -> Floats:
    """BM25 of each term over weighted fields, terms x candidates: counts and lengths are summed over the fields by weight
    before they saturate (Robertson, Zaragoza and Taylor, "Simple BM25 Extension to Multiple Weighted Fields", 2004)."""
    k1 = read.use.k1
    saturated = read.counts * (k1 + 1) / (read.counts + k1 * read.norm[: len(read.counts)])
    return np.asarray((read.weights * read.rarity)[:, np.newaxis] * saturated, np.float64)


def _lacking(by_term: Floats, read: _Reading, sessions: _Sessions) -> Floats:
    """Adds a share of the words of the question that a candidate lacks and the message before or behind it has: together they
    speak of what the question is about. At most half of what that message is ahead, so that what has all the words stays first.
    A pair of characters that a neighbor has is often of another word."""
    order, near = sessions.order, sessions.follows
    spaced = [not script_of(term[0]).unspaced for term in read.place]
    own = by_term[np.array(spaced, bool)][:, order]
    total = own.sum(axis=0)
    lent, ahead = np.zeros_like(own), np.zeros_like(total)
    lent[:, 1:], ahead[1:] = near * own[:, :-1], near * total[:-1]
    lent[:, :-1], ahead[:-1] = np.maximum(lent[:, :-1], near * own[:, 1:]), np.maximum(ahead[:-1], near * total[1:])
    share = np.maximum(read.use.lacking * lent - own, 0.0).sum(axis=0)
    added = np.empty(len(order))
    added[order] = np.minimum(share, np.maximum(ahead - total, 0.0) / 2)
    return added


def _phrases(query: Query, read: _Reading) -> Floats:
    """Scores quoted phrases that occur verbatim: each counts as one more, very specific term."""
    scores = np.zeros(len(read.found))
    if not query.phrases or not read.use.phrases:
        return scores
    # Padding, so that a phrase may begin with the last token.
    longest = max(map(len, query.phrases))
    term_at = np.full(len(read.tokens.field) + longest, -1, np.int64)
    term_at[read.hits.at] = read.hits.term
    field_at = np.append(read.tokens.field, np.full(longest, -1))
    for phrase in query.phrases:
        wanted = [read.place[term] for term in phrase]
        starts = np.flatnonzero(term_at[: len(read.tokens.field)] == wanted[0])
        for step, term in enumerate(wanted[1:], 1):
            starts = starts[(term_at[starts + step] == term) & (field_at[starts + step] == field_at[starts])]
        has = np.zeros(len(read.found))
        has[field_at[starts] // FIELDS] = 1.0
        # The frequencies of stop words are not counted.
        rated = [term for term in wanted if read.weights[term]] or wanted
        scores += read.use.phrases * float(read.rarity[rated].sum()) * has
    return scores


def _spans(query: Query, read: _Reading) -> Floats:
    """Scores candidates of the mentioned time: as if they had one more term, as rare as such candidates are."""
    if not query.spans or not read.use.spans:
        return np.zeros(len(read.found))
    within = [any(first <= c.time <= last for first, last in query.spans) for c in read.found]
    return read.use.spans * _known(within)


def _known(has: Sequence[bool]) -> Floats:
    flags = np.array(has, np.float64)
    return flags * _rarity(float(flags.sum()), len(has))


def _expected(query: Query, read: _Reading) -> Floats:
    """Returns a factor above 1 for what an answer is expected to be: of the role in question, with a number, of late. Late is
    measured in the time from the first to the last candidate with a term."""
    factor, intent = np.ones(len(read.found)), query.intent
    if intent.role:
        factor += read.use.role * np.array([candidate.role == intent.role for candidate in read.found], np.float64)
    if intent.number:
        factor *= 1 + read.use.number * np.array([_has_number(candidate.words) for candidate in read.found], np.float64)
    if intent.present:
        times = np.array([candidate.time for candidate in read.found], np.float64)
        matching = times[read.counts.any(axis=0)] if read.counts.any() else times
        factor *= 1 + read.use.present * np.clip((times - matching.min()) / max(float(np.ptp(matching)), 1.0), 0.0, 1.0)
    return factor


def _has_number(words: str) -> bool:
    return _DIGIT.search(words, 0, words.rfind("\n")) is not None  # not among the dates


def _relevance(query: Query, read: _Reading, sessions: _Sessions) -> Floats:
    """Returns the share of the query, by weight and rarity, that a candidate contains, or half of the share of an adjacent one.
    Terms that no document contains count too, and a speaker's name counts by its frequency in texts. The words of a query of
    stop words count the same: the rare ones of them say no more than the others."""
    mass = read.weights.copy() if query.vague else read.weights * _rarity(read.known, max(read.documents, _FEWEST_DOCUMENTS))
    for term, place in read.place.items():
        if not read.known[place] and script_of(term[0]).unspaced:
            mass[place] *= _OF_UNKNOWN_PAIR
    share: Floats = (mass[:, np.newaxis] * (read.counts > 0)).sum(axis=0) / max(float(mass.sum()), 1e-12)
    adjacent = np.empty_like(share)
    adjacent[sessions.order] = _lift(sessions, share[sessions.order])
    # Keywords, unlike a question, are not answered by what is only next to them.
    return np.maximum(share, adjacent if query.is_question else adjacent * (share > 0))


def _grouped(scores: Floats, read: _Reading, sessions: _Sessions) -> Floats:
    """Adds the scores of neighbors: events next to a good candidate are likely about the same subject, above all what follows
    it, and the answer after its question. A call is a question too, and its result the answer. Events of the same session are
    about the same subject to a lesser degree. (Scores of passages combined with those of their document: Callan,
    "Passage-Level Evidence in Document Retrieval", 1994.) Only the best neighbor counts: many weak matches are no answer. Some
    candidates are present only as neighbors and contain no term of the query."""
    use = read.use
    order = sessions.order
    own = scores[order]
    asking = own * _asking(read)[order]
    total = own - use.questions * asking + use.session * _best_of_session(sessions.session, own)
    total += use.neighbors * _lift(sessions, own, use.behind)
    total[1:] += use.answer * sessions.follows * asking[:-1]
    grouped = np.empty_like(total)
    grouped[order] = total
    return grouped


def _asking(read: _Reading) -> Floats:
    """Returns 1 for questions: a text that ends with one, and a call without a text or a result of its own."""
    text, calls, results = (read.tokens.lengths[:, field] > 0 for field in range(3))
    questions = np.array([candidate.words.endswith(QUESTION) for candidate in read.found], np.bool_)
    return np.asarray(questions | (calls & ~text & ~results), np.float64)


def _in_sessions(read: _Reading) -> _Sessions:
    session = np.array([candidate.session for candidate in read.found], np.int64)
    seq = np.array([candidate.position for candidate in read.found], np.float64) / POSITION_STEP
    order = np.lexsort((read.keys, seq, session))
    session, seq = session[order], seq[order]
    gap = np.diff(seq)
    return _Sessions(session, seq, order, (session[1:] == session[:-1]) & (gap > 0) & (gap <= 1))


def _lift(sessions: _Sessions, own: Floats, behind: float = 1.0) -> Floats:
    """Returns the score of each candidate's best neighbor, divided by 1 + the distance: half of it at distance 1. `behind`: a
    factor for those that follow their neighbor."""
    session, seq = sessions.session, sessions.seq
    lift = np.zeros(len(own))
    for lag in (1, 2):
        gap = seq[lag:] - seq[:-lag]
        near = (session[lag:] == session[:-lag]) & (gap > 0) & (gap <= REACH)
        share = np.where(near, 1 / (1 + np.where(near, gap, 0.0)), 0.0)
        lift[lag:] = np.maximum(lift[lag:], behind * share * own[:-lag])
        lift[:-lag] = np.maximum(lift[:-lag], share * own[lag:])
    return lift


def _best_of_session(session: Ints, scores: Floats) -> Floats:
    """Returns, for each candidate, the mean of the best scores of its session. `session` is sorted."""
    starts = np.flatnonzero(np.append(True, session[1:] != session[:-1]))
    ends = np.append(starts[1:], len(session))
    best = [np.sort(scores[start:end])[-_SESSION_BEST:].sum() / _SESSION_BEST for start, end in zip(starts, ends, strict=True)]
    return np.repeat(best, ends - starts)

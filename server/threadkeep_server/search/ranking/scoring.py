"""Scores of candidates for a query, without a model: BM25 over weighted fields, and signals from the conversation.

Each step is a function; `rank` calls them in order. A weight of 0 switches a step off. The constants are those of the
publications, or round numbers; none was fitted to a set of questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np

from ...domain.model import POSITION_STEP
from ...domain.search import Candidate, Candidates, Scored
from ..analysis.analyzer import index_terms
from ..analysis.scripts import script_of
from ..query import Query
from . import term_hits
from .term_hits import FIELDS, Floats, Hits, Ints, Tokens


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of each step; 0 switches it off, at no cost. k1 > 0 and 0 <= b <= 1 are parameters of BM25."""

    text: float = 1.0
    calls: float = 0.5
    results: float = 0.5
    media: float = 0.75
    dates: float = 0.5
    k1: float = 0.9
    b: float = 0.4
    ordered: float = 0.4
    near: float = 0.2
    phrases: float = 2.0
    speaker: float = 2.0
    called: float = 0.5
    spans: float = 1.0
    coverage: float = 0.3
    feedback: float = 0.3
    neighbors: float = 0.8
    session: float = 0.1

    @property
    def fields(self) -> tuple[float, ...]:
        """The weights of the fields, in the order of Words."""
        return self.text, self.calls, self.results, self.media, self.dates


DEFAULT = Weights()

NEAR = 8
"""The distance, in terms, up to which two terms are near: the window of the sequential dependence model."""

REACH = 2.0
"""The distance, in events, up to which neighbors raise a candidate's score."""

FEEDBACK_CANDIDATES = 5
FEEDBACK_TERMS = 10
_SAMPLE = 48  # candidates in which the frequency of a term is counted
_SESSION_BEST = 3
# A scope with fewer documents does not show how rare a word is; this number is assumed.
_FEWEST_DOCUMENTS = 50
# A pair of characters that no document contains usually spans two words.
_OF_UNKNOWN_PAIR = 0.4


def rank(query: Query, candidates: Candidates, weights: Weights = DEFAULT) -> list[Scored]:
    """Returns the candidates, best first; of equals, the later key first. Scores are finite, and 0 or more. The relevance of a
    candidate is the share of the query that it contains, or half of the share that an adjacent candidate contains."""
    if not candidates.found:
        return []
    found = sorted(candidates.found, key=attrgetter("key"))
    read = _Reading.of(query, replace(candidates, found=found), weights)
    scores = _bm25(read, read.weights)
    scores += _proximity(query, read)
    scores += _phrases(query, read)
    scores += _spans(query, read)
    scores *= _coverage(read)
    scores += _feedback(scores, read)
    scores = _grouped(scores, read)
    relevance = _relevance(read)
    order = np.lexsort((-read.keys, -scores))
    return [Scored(found[place].key, float(scores[place]), float(relevance[place])) for place in order.tolist()]


@dataclass(frozen=True, slots=True)
class _Reading:
    """The shared data of the steps: the candidates' terms, and the places of the query's terms. Matrices are terms x
    candidates."""

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
    use: Weights

    @classmethod
    def of(cls, query: Query, candidates: Candidates, use: Weights) -> _Reading:
        found = candidates.found
        tokens = term_hits.read([candidate.words for candidate in found])
        around = [term for group in (*query.pairs, *query.phrases) for term in group]
        place = {term: number for number, term in enumerate(dict.fromkeys([*query.terms, *around]))}
        hits = term_hits.find(tokens, term_hits.hashes(place)) if place else Hits(*(np.empty(0, np.int64) for _ in range(3)))
        counts = term_hits.count(hits, len(place), len(found), use.fields)
        known = np.array([candidates.frequencies.get(term, 0) for term in place], np.float64)
        counted = known.copy()
        _count_speakers(counts, counted, [place[name] for name in query.names if name in place], list(place), candidates, use)
        seen = (counts > 0).sum(axis=1)
        lengths = tokens.lengths[:, : FIELDS - 1] @ np.array(use.fields[: FIELDS - 1])
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
            norm=1 - use.b + use.b * lengths / max(float(lengths.mean()), 1.0),
            keys=np.array([candidate.key for candidate in found], np.int64),
            use=use,
        )


def _count_speakers(
    counts: Floats, frequencies: Floats, names: Sequence[int], terms: Sequence[str], candidates: Candidates, use: Weights
) -> None:
    """Counts authors as a field: the person that a query names usually gave the answer. The name of a speaker is as frequent
    as that speaker's events. Inside texts it is mostly a form of address, so it counts less there."""
    if not names or not use.speaker:
        return
    authors = [candidate.author for candidate in candidates.found]
    called = {author: frozenset(index_terms(author)) for author in set(authors)}
    for name in names:
        said = np.array([terms[name] in called[author] for author in authors], np.float64)
        if said.any():
            counts[name] = use.speaker * said + use.called * counts[name]
            frequencies[name] = min(frequencies[name] + said.mean() * candidates.documents, candidates.documents)


def _rarity(frequencies: Floats | float, documents: int) -> Floats:
    """Returns the inverse document frequency, never below 0: Robertson and Zaragoza, "The Probabilistic Relevance Framework:
    BM25 and Beyond" (2009), with Lucene's 1 added inside the logarithm."""
    within = np.minimum(np.asarray(frequencies, np.float64), documents)
    return np.log1p((documents - within + 0.5) / (within + 0.5))


def _saturated(counts: Floats, read: _Reading) -> Floats:
    """Returns the saturated counts of BM25: further occurrences count less, and less in longer documents."""
    return counts * (read.use.k1 + 1) / (counts + read.use.k1 * read.norm)


def _bm25(read: _Reading, weights: Floats) -> Floats:
    """BM25 over weighted fields: counts and lengths are summed over the fields by weight before they saturate (Robertson,
    Zaragoza and Taylor, "Simple BM25 Extension to Multiple Weighted Fields", 2004). k1 = 0.9 and b = 0.4 suit short texts
    (Trotman, Puurula and Burgess, "Improvements to BM25 and Language Models Examined", 2014)."""
    return np.asarray((weights * read.rarity) @ _saturated(read.counts, read), np.float64)


def _proximity(query: Query, read: _Reading) -> Floats:
    """Scores adjacent terms of the query that are adjacent in the same order, or within NEAR terms in any order: the features
    of the sequential dependence model (Metzler and Croft, "A Markov Random Field Model for Term Dependencies", 2005), scored
    like terms."""
    pairs = list(dict.fromkeys((read.place[a], read.place[b]) for a, b in query.pairs if a != b))
    if not pairs or not (read.use.ordered or read.use.near):
        return np.zeros(len(read.found))
    number = np.full((len(read.place), len(read.place)), -1, np.int64)
    for index, (first, second) in enumerate(pairs):
        number[first, second] = index
    hits, size = read.hits, (len(pairs), len(read.found))
    ordered, near = np.zeros(size), np.zeros(size)
    for lag in range(1, 5):
        before, behind = slice(None, -lag), slice(lag, None)
        gap = hits.at[behind] - hits.at[before]
        together = (hits.field[behind] == hits.field[before]) & (gap < NEAR)
        forward = number[hits.term[before], hits.term[behind]]
        either = np.maximum(forward, number[hits.term[behind], hits.term[before]])
        who = hits.field[before] // FIELDS
        for table, which, where in ((ordered, forward, together & (gap == 1)), (near, either, together)):
            chosen = where & (which >= 0)
            np.add.at(table, (which[chosen], who[chosen]), 1.0)
    rarity = np.array([(read.rarity[a] + read.rarity[b]) / 2 for a, b in pairs])
    return np.asarray(rarity @ (read.use.ordered * _saturated(ordered, read) + read.use.near * _saturated(near, read)))


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


def _coverage(read: _Reading) -> Floats:
    """Returns a factor: the share of the query, by weight and rarity, that a candidate contains (a softened form of the
    coordination factor of Salton's vector space systems)."""
    mass = read.weights * read.rarity
    total = float(mass[(read.counts > 0).any(axis=1)].sum())
    if not total or not read.use.coverage:
        return np.ones(len(read.found))
    covered = mass @ (read.counts > 0)
    return np.asarray(1 - read.use.coverage * (1 - covered / total), np.float64)


def _relevance(read: _Reading) -> Floats:
    """Returns the share of the query, by weight and rarity, that a candidate contains, or half of the share of an adjacent one.
    Unlike in `_coverage`, terms that no document contains count too, and a speaker's name counts by its frequency in texts."""
    mass = read.weights * _rarity(read.known, max(read.documents, _FEWEST_DOCUMENTS))
    for term, place in read.place.items():
        if not read.known[place] and script_of(term[0]).unspaced:
            mass[place] *= _OF_UNKNOWN_PAIR
    share = mass @ (read.counts > 0) / max(float(mass.sum()), 1e-12)
    session, seq, order = _in_sessions(read)
    adjacent = np.empty_like(share)
    adjacent[order] = np.where(seq > 0, _lift(session, seq, share[order]), 0.0)  # memories have no position: theirs is 0
    return np.maximum(share, adjacent)


def _feedback(scores: Floats, read: _Reading) -> Floats:
    """Scores pseudo-relevance feedback: searches for the terms of the best candidates too, with less weight. This is the
    relevance model mixed with the query (RM3; Abdul-Jaleel et al., "UMass at TREC 2004"), scored with BM25. A term must occur
    in two of the best, so that no candidate only confirms itself."""
    best = np.lexsort((-read.keys, -scores))[:FEEDBACK_CANDIDATES]
    if not read.use.feedback or len(read.found) <= FEEDBACK_CANDIDATES or not scores[best].sum():
        return np.zeros(len(read.found))
    terms, chances = _relevance_model([read.tokens.of(int(one)) for one in best], scores[best], read)
    if not len(terms):
        return np.zeros(len(read.found))
    common = _sampled_rarity(terms, read)
    chosen = np.argsort(-chances * common, kind="stable")[:FEEDBACK_TERMS]
    counts = term_hits.count(term_hits.find(read.tokens, terms[chosen]), len(chosen), len(read.found), read.use.fields)
    rarity = _rarity((counts > 0).sum(axis=1).astype(np.float64), len(read.found))
    share = chances[chosen] * common[chosen]
    share *= read.use.feedback * float(read.weights.sum()) / max(float(share.sum()), 1e-12)
    return np.asarray((share * rarity) @ _saturated(counts, read), np.float64)


def _relevance_model(documents: Sequence[term_hits.Hashes], scores: Floats, read: _Reading) -> tuple[term_hits.Hashes, Floats]:
    """Returns the terms that occur in at least two of the documents, without those of the query, and their probabilities."""
    every = np.concatenate(documents)
    terms, which = np.unique(every, return_inverse=True)
    owner = np.repeat(np.arange(len(documents)), [len(document) for document in documents])
    counts = np.bincount(which * len(documents) + owner, minlength=len(terms) * len(documents)).reshape(len(terms), -1)
    lengths = np.maximum(counts.sum(axis=0), 1)
    chances = (counts / lengths) @ (scores / scores.sum())
    kept = ((counts > 0).sum(axis=1) >= 2) & ~np.isin(terms, term_hits.hashes(read.place))
    return terms[kept], chances[kept]


def _sampled_rarity(terms: term_hits.Hashes, read: _Reading) -> Floats:
    """Returns the rarity of terms in candidates at even distances. `terms` is sorted."""
    step = -(-len(read.found) // _SAMPLE)
    owner = read.tokens.field // FIELDS
    taken = owner % step == 0
    sample, owner = read.tokens.hashes[taken], owner[taken]
    place = np.minimum(np.searchsorted(terms, sample), len(terms) - 1)
    same = terms[place] == sample
    has = np.zeros((len(terms), len(read.found)), np.bool_)
    has[place[same], owner[same]] = True
    return _rarity(has.sum(axis=1).astype(np.float64), -(-len(read.found) // step))


def _grouped(scores: Floats, read: _Reading) -> Floats:
    """Adds the scores of neighbors: events next to a good candidate are likely about the same subject, above all an answer
    after its question. Events of the same session are too, to a lesser degree. (Scores of passages combined with those of their
    document: Callan, "Passage-Level Evidence in Document Retrieval", 1994.) Only the best neighbor counts: many weak matches
    are no answer. Some candidates are present only as neighbors and contain no term of the query."""
    if not (read.use.neighbors or read.use.session):
        return scores
    session, seq, order = _in_sessions(read)
    own = scores[order]
    total = own + read.use.neighbors * _lift(session, seq, own) + read.use.session * _best_of_session(session, own)
    grouped = np.empty_like(total)
    grouped[order] = total
    return grouped


def _in_sessions(read: _Reading) -> tuple[Ints, Floats, Ints]:
    """Returns the sessions and seqs of the candidates, sorted by both, and the sort order."""
    session = np.array([candidate.session for candidate in read.found], np.int64)
    seq = np.array([candidate.position for candidate in read.found], np.float64) / POSITION_STEP
    order = np.lexsort((seq, session))
    return session[order], seq[order], order


def _lift(session: Ints, seq: Floats, own: Floats) -> Floats:
    """Returns the score of each candidate's best neighbor, divided by 1 + the distance: half of it at distance 1."""
    lift = np.zeros(len(own))
    for lag in (1, 2):
        gap = seq[lag:] - seq[:-lag]
        near = (session[lag:] == session[:-lag]) & (gap <= REACH)
        share = np.where(near, 1 / (1 + np.where(near, gap, 0.0)), 0.0)
        lift[lag:] = np.maximum(lift[lag:], share * own[:-lag])
        lift[:-lag] = np.maximum(lift[:-lag], share * own[lag:])
    return lift


def _best_of_session(session: Ints, scores: Floats) -> Floats:
    """Returns, for each candidate, the mean of the best scores of its session. `session` is sorted."""
    starts = np.flatnonzero(np.append(True, session[1:] != session[:-1]))
    ends = np.append(starts[1:], len(session))
    best = [np.sort(scores[start:end])[-_SESSION_BEST:].sum() / _SESSION_BEST for start, end in zip(starts, ends, strict=True)]
    return np.repeat(best, ends - starts)

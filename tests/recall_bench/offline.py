"""The recall benchmark without a server: ranks every turn as a document, and compares with plain FTS5 over the same text.

    python -m tests.recall_bench.offline [PATH] [--layout NAME] [--pool] [--types]

prints the contribution of each step of the ranking: the recall of evidence turns with all steps, and without each of them.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from threadkeep_server.domain.model import POSITION_STEP
from threadkeep_server.domain.search import Candidate, Candidates, Scored, Texts
from threadkeep_server.providers.embedders.hashing import HashingEmbedder
from threadkeep_server.search.analysis.terms import words_of
from threadkeep_server.search.query import Query, parse
from threadkeep_server.search.ranking import languages
from threadkeep_server.search.ranking.fusion import (
    NO_MEANING,
    OF_MEANING,
    OF_SPELLING,
    Meaning,
    Strength,
    first_by_words,
    nearness,
)
from threadkeep_server.search.ranking.relevance import QUESTIONS, TEXTS, answering, cosine_scale
from threadkeep_server.search.ranking.scoring import DEFAULT, Weights, rank

from .loaders import LAYOUTS, OWN, load
from .local import LocalModel
from .metrics import ALL, Asked, Key, Places, counts, measure
from .model import Conversation, Question, Session
from .plain import CAREFUL, PLAIN, PlainFts5, careful_text, plain_text

LIMIT = 256
"""Candidates of a question, as in the server."""

NEAREST = 100
"""The nearest turns of a question, which join the candidates, as in the server."""

BEST_WITH_NEIGHBORS = 10
"""The number of candidates whose neighbors join the candidates."""

ROLES = {"user": 1, "assistant": 2, "system": 3, "tool": 4}

Answer = Callable[[Question], list[str]]
Method = Callable[[Conversation], Answer]

STEPS: dict[str, dict[str, float]] = {
    "quoted phrases": {"phrases": 0},
    "who speaks": {"speaker": 0},
    "times in the question": {"spans": 0, "dates": 0},
    "the role in question": {"role": 0},
    "a number wanted": {"number": 0},
    "the present wanted": {"present": 0},
    "words that neighbors have": {"lacking": 0},
    "neighbors": {"neighbors": 0},
    "more for what follows": {"behind": 1},
    "answers to questions": {"answer": 0, "questions": 0},
    "session": {"session": 0},
}
"""The weights that switch each step off."""

BARE = Weights(**{name: value for off in STEPS.values() for name, value in off.items()})
"""BM25 over weighted fields, and nothing else."""


class Documents:
    """The turns of a conversation, as a store has them."""

    def __init__(self, conversation: Conversation) -> None:
        self.ids: list[str] = []
        self._candidates: list[Candidate] = []
        self._terms: list[frozenset[str]] = []
        for number, session in enumerate(conversation.sessions):
            for seq, turn in enumerate(session.turns, 1):
                role, author = ROLES.get(turn.role, 0), "" if turn.speaker == turn.role else turn.speaker
                words = words_of(Texts(turn.text, turn.calls, turn.results, turn.media), turn.time_ns, author)
                joined = "\n".join(" ".join(field) for field in words)
                place = (len(self.ids), number, seq * POSITION_STEP, turn.time_ns)
                self._candidates.append(Candidate(*place, role, author, joined))
                self._terms.append(frozenset(joined.split()))
                self.ids.append(turn.id)
        self._frequencies = Counter(term for terms in self._terms for term in terms)

    def candidates(self, query: Query, limit: int = LIMIT, also: Sequence[int] = ()) -> Candidates:
        """The documents that have any of the terms; if there are more than `limit`, those with the most and rarest of them. And
        those of `also`."""
        wanted = dict.fromkeys(query.recruiting).keys()
        found = [n for n, terms in enumerate(self._terms) if not terms.isdisjoint(wanted)]
        telling = {term: math.log1p(len(self.ids) / self._frequencies[term]) for term in wanted if self._frequencies[term]}
        best = sorted(found, key=lambda n: -sum(telling[term] for term in telling if term in self._terms[n]))[:limit]
        frequencies = {term: self._frequencies[term] for term in telling}
        return Candidates(
            [self._candidates[n] for n in dict.fromkeys([*best, *also])], len(self.ids), frequencies, len(found) <= limit
        )

    def around(self, keys: Sequence[int], reach: int) -> list[Candidate]:
        """The documents within `reach` of these in their sessions, including these."""
        near = {n for key in keys for n in range(max(key - reach, 0), min(key + reach + 1, len(self.ids)))}
        sessions = {key: self._candidates[key].session for key in keys}
        return [
            self._candidates[n]
            for n in sorted(near)
            if any(abs(n - key) <= reach and self._candidates[n].session == session for key, session in sessions.items())
        ]


def pool(conversations: Sequence[Conversation], name: str = "pool") -> Conversation:
    """All conversations as one, so that each question searches all of them. Ids get that of the conversation as a prefix."""
    sessions: list[Session] = []
    questions: list[Question] = []
    for each in conversations:
        new = {turn.id: f"{each.id}/{turn.id}" for _, turn in each.turns()}
        for session in each.sessions:
            turns = tuple(replace(turn, id=new[turn.id]) for turn in session.turns)
            sessions.append(replace(session, id=f"{each.id}/{session.id}", turns=turns))
        for question in each.questions:
            gold, homes = (new[one] for one in question.gold_turns), (f"{each.id}/{one}" for one in question.gold_sessions)
            questions.append(replace(question, gold_turns=frozenset(gold), gold_sessions=frozenset(homes)))
    left_out = tuple(reason for each in conversations for reason in each.left_out)
    return Conversation(name, tuple(sessions), tuple(questions), left_out)


def ranked(weights: Weights, reach: int = 0) -> Method:
    """Ranking with these weights. With `reach`, the documents within it of the best BEST_WITH_NEIGHBORS join the candidates,
    even without a term of the question, and all are ranked again."""

    def method(conversation: Conversation) -> Answer:
        documents = Documents(conversation)

        def answer(question: Question) -> list[str]:
            query = parse(question.text, question.time_ns)
            candidates = documents.candidates(query)
            scored = rank(query, candidates, weights)
            if reach:
                more = documents.around([best.key for best in scored[:BEST_WITH_NEIGHBORS]], reach)
                found = {each.key: each for each in (*candidates.found, *more)}
                scored = rank(query, replace(candidates, found=list(found.values())), weights)
            return [documents.ids[each.key] for each in scored]

        return answer

    return method


def served(conversation: Conversation, weights: Weights = DEFAULT, min_score: float | None = None) -> Answer:
    """RANKED as a server has it: neighbors of the best join the candidates of a question in words, not of keywords."""
    documents = Documents(conversation)

    def answer(question: Question) -> list[str]:
        query = parse(question.text, question.time_ns)
        return [documents.ids[each.key] for each in answering(_in_context(documents, query, weights=weights), min_score)]

    return answer


def hybrid(
    conversation: Conversation, embedder: HashingEmbedder | LocalModel | None = None, min_score: float | None = None
) -> Answer:
    """HYBRID as a server has it, with the hashing embedder by default."""
    documents = Documents(conversation)
    embedder = embedder or HashingEmbedder()
    document = embedder.document if isinstance(embedder, LocalModel) else embedder.vector
    turns = [turn for _, turn in conversation.turns()]
    vectors = np.array([document(Texts(turn.text, turn.calls, turn.results, turn.media).of()) for turn in turns])
    spelling = isinstance(embedder, HashingEmbedder)
    most = OF_SPELLING if spelling else OF_MEANING
    scale = cosine_scale(np.array(list(map(embedder.vector, QUESTIONS))), np.array(list(map(document, TEXTS))))
    asked, answers = map(embedder.vector, languages.probe_questions()), map(document, languages.probe_answers())
    known = languages.measured(np.array(list(asked)), np.array(list(answers)))

    def answer(question: Question) -> list[str]:
        query = parse(question.text, question.time_ns)
        vector = embedder.vector(question.text)
        cosines = vectors @ vector
        near = [Scored(key, float(cosines[key])) for key in np.argsort(-cosines, kind="stable")[:NEAREST].tolist()]
        relevance = {each.key: scale.relevance(each.score) for each in near}
        usual = float(np.median(cosines))
        strength = Strength(most * (1.0 if known.knows(vector) else scale.certainty(usual)), spelling)
        meaning = nearness(near, strength, usual)
        ranked: Sequence[Scored] = _in_context(documents, query, meaning)
        if spelling:
            ranked = first_by_words(ranked, _in_context(documents, query))
        scored = [each._replace(relevance=max(each.relevance, relevance.get(each.key, 0.0))) for each in ranked]
        return [documents.ids[each.key] for each in answering(scored, min_score)]

    return answer


def _in_context(documents: Documents, query: Query, meaning: Meaning = NO_MEANING, weights: Weights = DEFAULT) -> list[Scored]:
    candidates = documents.candidates(query, also=tuple(meaning.near))
    scored = rank(query, candidates, weights, meaning)
    if not query.is_question:
        return scored
    more = documents.around([best.key for best in scored[:BEST_WITH_NEIGHBORS]], 1)
    found = {each.key: each for each in (*candidates.found, *more)}
    return rank(query, replace(candidates, found=list(found.values())), weights, meaning)


def fts5(conversation: Conversation) -> Answer:
    """The baseline as it comes, see `plain`."""
    return _full_text(conversation, careful=False)


def careful_fts5(conversation: Conversation) -> Answer:
    """The baseline of somebody who takes care, see `plain`."""
    return _full_text(conversation, careful=True)


def _full_text(conversation: Conversation, *, careful: bool) -> Answer:
    turns = [turn for _, turn in conversation.turns()]
    table = PlainFts5()
    table.add((careful_text if careful else plain_text)(turn) for turn in turns)
    return lambda question: [turns[number - 1].id for number in table.search(question.text, LIMIT, careful=careful)]


def ask(conversations: Iterable[Conversation], method: Method) -> Iterator[tuple[Asked, Places]]:
    for conversation in conversations:
        if conversation.questions:
            answer, places = method(conversation), Places(conversation)
            yield from ((Asked(question, answer(question)), places) for question in conversation.questions)


def variants() -> dict[str, Method]:
    """The methods to compare, by name: first the baseline, then the ranking with its default weights."""
    without = {f"without {name}": ranked(replace(Weights(), **off)) for name, off in STEPS.items()}
    compared = {PLAIN: fts5, CAREFUL: careful_fts5, "ranking": ranked(Weights()), "BM25 alone": ranked(BARE)}
    return compared | without | {f"with neighbors ±{reach}": ranked(Weights(), reach) for reach in (1, 2)}


TEN, TEN_WITH_NEIGHBORS = Key("turns", 10, 0), Key("turns", 10, 1)

COLUMNS = (Key("turns", 1, 0), Key("turns", 5, 0), TEN, TEN_WITH_NEIGHBORS, Key("turns", 20, 0), Key("sessions", 10, 0))
_KS = (1, 5, 10, 20)


def table(conversations: Sequence[Conversation], methods: dict[str, Method]) -> str:
    """One line per method. `±1` includes the neighbors of each hit."""
    heads = [f"{key.of}@{key.k}" + (f" ±{key.neighbors}" if key.neighbors else "") for key in COLUMNS]
    lines = ["".join([f"{'':32}", *(f"{head:>13}" for head in heads), f"{'seconds':>9}"])]
    for name, method in methods.items():
        begun = time.perf_counter()
        figures = measure(ask(conversations, method), _KS)[ALL]
        took = time.perf_counter() - begun
        lines.append("".join([f"{name:32}", *(f"{figures.get(key, math.nan):13.3f}" for key in COLUMNS), f"{took:9.1f}"]))
    return "\n".join(lines)


def types(conversations: Sequence[Conversation], methods: dict[str, Method]) -> str:
    """Recall@10 by question type: without and with a neighbor on each side, for each method."""
    results = {name: list(ask(conversations, method)) for name, method in methods.items()}
    figures = {name: measure(answered) for name, answered in results.items()}
    lines = ["".join([f"{'':20}{'questions':>10}", *(f"{name:>23}" for name in methods)])]
    for kind, number in sorted(counts(next(iter(results.values()))).items()):
        cells = (figures[name].get(kind, {}) for name in methods)
        pairs = (f"{c.get(TEN, math.nan):.3f} / {c.get(TEN_WITH_NEIGHBORS, math.nan):.3f}" for c in cells)
        lines.append("".join([f"{kind:20}{number:10}", *(f"{pair:>23}" for pair in pairs)]))
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.recall_bench.offline", description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "path", nargs="?", type=Path, default=OWN, help="a file or a directory; the set of this repository by default"
    )
    parser.add_argument("--layout", choices=LAYOUTS, help="detected from the content by default")
    parser.add_argument("--types", action="store_true", help="also print recall@10 by question type")
    parser.add_argument("--pool", action="store_true", help="search all conversations at once for each question")
    options = parser.parse_args(arguments)
    conversations = list(load(options.path, options.layout))
    conversations = [pool(conversations)] if options.pool else conversations
    left_out = Counter(reason for conversation in conversations for reason in conversation.left_out)
    questions = sum(len(conversation.questions) for conversation in conversations)
    print(f"{len(conversations)} conversations, {questions} questions")
    print(*(f"left out: {number} of which {reason}" for reason, number in left_out.items()), sep="\n")
    methods = variants()
    print(table(conversations, methods))
    if options.types:
        print(types(conversations, {name: methods[name] for name in (CAREFUL, "ranking", "with neighbors ±1")}))


if __name__ == "__main__":
    main()

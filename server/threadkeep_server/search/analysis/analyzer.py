"""Text analysis: the terms of documents and queries, and their places.

A text is split into chunks; each is analyzed separately and cached, since texts repeat their words:

- of scripts with blanks between words: a word, or words joined without a blank ("user@example.com", "snake_case", "v1.2.3",
  "docs/api.md"). Its terms are the whole, then each part, then the parts of parts ("getUserName": getusernam, get, user, name).
- of other scripts (Chinese, Japanese, Korean, Thai, ...): a run of one script. Its terms are its characters, then its
  overlapping pairs of characters; for a query only the pairs, or a single character. Pairs need no dictionary: for any words,
  the pairs of a query are among those of the text.
- an emoji, without its tone of skin. Its term is its code point, or those of a flag, in hexadecimal behind EMOJI.

A term consists of letters, marks, numbers (Unicode categories L*, M*, N*) and private-use characters (Co) of the analyzer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import pairwise
from operator import add
from typing import NamedTuple

from .normalize import JOINT, LONGEST_TERM, fold, stem
from .scripts import MARKS, UNSPACED, Script, letters, script_of

ANALYZER_VERSION = 4
"""Increases with every change of the terms of a text; an index of another version is rebuilt."""

MOST_TERMS = 100_000
"""Indexed terms of one text; the rest is not found."""

MOST_CHARACTERS = 1_000_000
"""Indexed characters of one text; the rest is not found."""


MOST_OF_CHUNK = 50_000
"""Indexed characters of one chunk; the rest of the chunk is not found."""


class Token(NamedTuple):
    """A term, and its characters in the original text: from `start` to before `end`."""

    term: str
    start: int
    end: int


_JOINTS = r"(?:[.@/\\'’:＇-]|_+|:[/\\]{1,2}|(?<=\d),(?=\d{3}(?!\d)))"
_LANGUAGE = r"(?:(?<=[A-Za-z])(?:\+\+(?!\+)|(?<![A-Za-z0-9][A-Za-z])#(?![\w#])))?"  # of C++ and C#
_ASCII_CHUNK = re.compile(rf"[A-Za-z0-9]+(?:{_JOINTS}[A-Za-z0-9]+)*{_LANGUAGE}", re.ASCII)
_NO_BLANKS = "".join(letters(script) for script in UNSPACED)
_INSIDE = f"{MARKS}\u00ad\u200c\u200d"  # Marks and invisible characters in words: soft hyphens and (non-)joiners.
_WORD = rf"[^\W_{_NO_BLANKS}]+(?:[{_INSIDE}]+[^\W_{_NO_BLANKS}]*)*"
_RUNS = "|".join(f"[{letters(script)}][{letters(script)}{_INSIDE}]*" for script in UNSPACED)
EMOJI = "\ue106"
"""Begins the terms of emoji."""
_EMOJI = re.compile(
    "[\U0001f1e6-\U0001f1ff]{2}|[\u231a\u231b\u23e9-\u23fa\u2600-\u2775\u2794-\u27bf\u2b1b\u2b1c\u2b50\u2b55"
    "\U0001f300-\U0001f3fa\U0001f400-\U0001f64f\U0001f680-\U0001f6ff\U0001f7e0-\U0001f7eb\U0001f900-\U0001faff]"
)
_CHUNK = re.compile(rf"{_WORD}(?:{_JOINTS}{_WORD})*{_LANGUAGE}|{_RUNS}|{_EMOJI.pattern}")

# A unit of a run: a letter with its marks, including Thai and Lao AM and half-width voicing marks; single Hangul jamo are
# composed.
_UNIT = re.compile(
    "(?:[\u1100-\u115f\ua960-\ua97c]+[\u1160-\u11a7\ud7b0-\ud7c6]*[\u11a8-\u11ff\ud7cb-\ud7fb]*|.)"
    rf"[{_INSIDE}\u0e33\u0eb3\uff9e\uff9f]*",
    re.DOTALL,
)

_SEGMENT = re.compile(r"[^/\\@:]+")
# A number, alone or before a short unit (3.5GB).
_NUMBER = r"(?<![.\w])(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d+)(?:(?![.\w])|(?=[^\W\d_]{1,4}(?!\w)))"
_IN_THOUSANDS = r"(?<![.,\w])[0-9]{1,6}(?:\.[0-9]{1,3})?[kKM](?!\w)"
_PIECE = re.compile(rf"{_IN_THOUSANDS}|{_NUMBER}|[^.,_-]+")
_THOUSANDS = re.compile(_IN_THOUSANDS)
_HASH = re.compile("(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{8,64}")  # of a commit
_SHORT_HASH = 7  # what Git prints of one; a longer beginning has it as its own beginning
_APOSTROPHE = re.compile(r"['’＇]")
_ENDINGS = frozenset(("s", "ll", "re", "ve", "d", "m"))
_ORDINALS = frozenset(("st", "nd", "rd", "th"))

# Runs of characters that fold to themselves, which are most, have a fast path to the same terms.
_PLAIN_RUN = re.compile("[\u3005\u3041-\u3096\u30a1-\u30fa\u30fc\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]+")
_FIRST_UNSPACED = "\u0e00"  # Words below it repeat and are cached; runs rarely do.
_REMEMBERED = 32  # characters of a cached chunk: longer ones rarely repeat
_MOST_CAMEL = 48  # characters of a word that is split; longer ones are keys, hashes and the like
_MOST_HUMPS = 8
_LONGEST_UNIT = LONGEST_TERM // 2


def index_terms(text: str) -> list[str]:
    """Returns the terms of a document, in order, with repetitions; at most MOST_TERMS, of the first MOST_CHARACTERS."""
    if len(text) > MOST_CHARACTERS:
        text = text[:MOST_CHARACTERS]
    chunks = _ASCII_CHUNK if text.isascii() else _CHUNK
    terms: list[str] = []
    for chunk in chunks.findall(text):
        if chunk[0] < _FIRST_UNSPACED and len(chunk) <= _REMEMBERED:
            terms += _known_terms(chunk)
        elif _PLAIN_RUN.fullmatch(chunk):
            run = chunk[:MOST_OF_CHUNK]
            terms += run
            terms += map(add, run, run[1:])
        else:
            terms += [token.term for token in _analyze(chunk, False)]
        if len(terms) > MOST_TERMS:
            return terms[:MOST_TERMS]
    return terms


Seen = dict[str, Sequence[tuple[int, int]]]
"""The places of terms in words."""


def places(text: str, wanted: AbstractSet[str], seen: Seen | None = None) -> Iterator[tuple[int, int]]:
    """Yields the places of the wanted terms of a document, each once, in order. Repeated words without a wanted term, which are
    most, cost almost nothing. `seen`: of earlier texts with the same wanted terms; is added to."""
    chunks = _ASCII_CHUNK if text.isascii() else _CHUNK
    seen = {} if seen is None else seen
    for match in chunks.finditer(text):
        chunk = match[0]
        found = seen.get(chunk)
        if found is None:
            found = _places_in(chunk, wanted)
            if len(chunk) <= _REMEMBERED:
                seen[chunk] = found
        for start, end in found:
            yield match.start() + start, match.start() + end


def _places_in(chunk: str, wanted: AbstractSet[str]) -> Sequence[tuple[int, int]]:
    # Most words are cached from indexing and not wanted.
    if chunk[0] < _FIRST_UNSPACED and len(chunk) <= _REMEMBERED and wanted.isdisjoint(_known_terms(chunk)):
        return ()
    if _PLAIN_RUN.fullmatch(chunk):
        run = chunk[:MOST_OF_CHUNK]
        return [
            (start, end)
            for start in range(len(run))
            for end in (start + 1, start + 2)
            if end <= len(run) and run[start:end] in wanted
        ]
    return sorted({(token.start, token.end) for token in _analyze(chunk, False) if token.term in wanted})


def query_tokens(text: str) -> Iterator[Token]:
    """Yields the terms of a query with their places. Each is also a term of the same text as a document."""
    return tokens(text, question=True)


def tokens(text: str, *, question: bool) -> Iterator[Token]:
    """Yields the terms of a query, or of a document in the order of index_terms without its limits, with their overlapping
    places."""
    chunks = _ASCII_CHUNK if text.isascii() else _CHUNK
    for match in chunks.finditer(text):
        chunk, at = match[0], match.start()
        known = chunk[0] < _FIRST_UNSPACED and len(chunk) <= _REMEMBERED
        found = _known(chunk, question) if known else _analyze(chunk, question)
        for term, start, end in found:
            yield Token(term, at + start, at + end)


@lru_cache(1 << 16)
def _known_terms(chunk: str) -> tuple[str, ...]:
    return tuple(token.term for token in _analyze(chunk, False))


@lru_cache(1 << 14)
def _known(chunk: str, question: bool) -> tuple[Token, ...]:
    return tuple(_analyze(chunk, question))


def _analyze(chunk: str, question: bool) -> Iterable[Token]:
    chunk = chunk[:MOST_OF_CHUNK]
    if script_of(chunk[0]).unspaced:
        return _of_run(chunk, question)
    if _EMOJI.fullmatch(chunk):
        return [Token(EMOJI + "".join(f"{ord(character):x}" for character in chunk), 0, len(chunk))]
    return _of_words(chunk)


def _of_run(run: str, question: bool) -> list[Token]:
    """Returns the characters of a run of one unspaced script, then its pairs; for a query only pairs if there are any."""
    units = [Token(term, *unit.span()) for unit in _UNIT.finditer(run) if (term := _unit_term(unit[0]))]
    pairs = [Token(one.term + other.term, one.start, other.end) for one, other in pairwise(units)]
    return pairs if question and pairs else units + pairs


@lru_cache(1 << 14)
def _unit_term(unit: str) -> str:
    return fold(unit)[:_LONGEST_UNIT]


def _of_words(chunk: str) -> list[Token]:
    """Returns the whole term, and its parts."""
    end = len(chunk.rstrip("+#"))
    segments = [_of_segment(chunk, match.start(), match.end()) for match in _SEGMENT.finditer(chunk, 0, end)]
    name, found = _wrap(segments, 0, end)
    if end == len(chunk) or not name:
        return found
    return [*_named(f"{name}{'sharp' if chunk[end] == '#' else 'plusplus'}", 0, len(chunk))[1], *found]


_Named = tuple[str, list[Token]]
"""A folded word before stemming, and its tokens, that of the whole word first."""


def _of_segment(chunk: str, start: int, end: int) -> _Named:
    pieces: list[_Named] = []
    for match in _PIECE.finditer(chunk, start, end):
        piece, span = match[0], match.span()
        if not piece[0].isdecimal():
            pieces.append(_of_piece(chunk, *span))
            continue
        whole = _named(fold(piece.replace(",", "").replace(".", JOINT)), *span)
        if _THOUSANDS.fullmatch(piece):
            value = round(float(piece[:-1]) * (1_000_000 if piece[-1] == "M" else 1_000))
            pieces.append((whole[0], [*whole[1], Token(str(value), *span)]))
        else:
            pieces.append(whole if "," in piece or "." in piece else _of_piece(chunk, *span))
    return _wrap(pieces, start, end)


def _of_piece(chunk: str, start: int, end: int) -> _Named:
    """Splits a word at apostrophes: endings are dropped ("Caroline's"), "don't" is one word, "l'homme" two."""
    spans, at = [], start
    for part in _APOSTROPHE.split(chunk[start:end]):
        spans.append((at, at + len(part)))
        at += len(part) + 1
    while len(spans) > 1 and chunk[slice(*spans[-1])].lower() in _ENDINGS:
        spans.pop()
    if len(spans) == 1:
        return _of_word(chunk, *spans[0])
    words = [_of_word(chunk, *span) for span in spans]
    name, found = _wrap(words, start, spans[-1][1])
    if words[-1][0] == "t":
        return name, found[:1]
    return name, [found[0], *(token for token in found[1:] if token.end - token.start > 1)]


def _of_word(chunk: str, start: int, end: int) -> _Named:
    """Splits a word without joints by case, digits and scripts ("getUserName", "BA117")."""
    whole = _named(fold(chunk[start:end]), start, end)
    if _HASH.fullmatch(whole[0]) and len(whole[0]) == end - start:
        whole[1].extend(_named(whole[0][:_SHORT_HASH], start, start + _SHORT_HASH)[1])
    cuts = _humps(chunk[start:end])
    if len(cuts) < 3:
        return whole
    found = whole[1]
    for first, last in pairwise(cuts):
        part = fold(chunk[start + first : start + last])
        if not (part in _ORDINALS and first and chunk[start + first - 1].isdecimal()):
            found += _named(part, start + first, start + last)[1]
    return whole[0], found


def _named(name: str, start: int, end: int) -> _Named:
    return name, [Token(stem(name), start, end)] if name else []


def _wrap(parts: list[_Named], start: int, end: int) -> _Named:
    """Joins parts: the whole term first, unless there is one part only."""
    parts = [part for part in parts if part[0]]
    if len(parts) == 1:
        return parts[0]
    name = ""
    for part, _ in parts:
        name += JOINT + part if name and name[-1].isdecimal() and part[0].isdecimal() else part
    inner = [token for _, found in parts for token in found]
    return name, [*_named(name, start, end)[1], *inner]


def _humps(word: str) -> list[int]:
    """Returns the starts of the words inside a word, and its end; [0, end] for a single one."""
    if word.isalpha() and word.isascii() and (word.islower() or word.istitle() or word.isupper()):
        return [0, len(word)]
    kinds = _kinds(word)
    digits = [kind.digit for kind in kinds]
    # A word with more than one number is a key or a hash, whose parts have no meaning.
    if len(word) > _MOST_CAMEL or sum(now and not before for before, now in zip([False, *digits], digits, strict=False)) > 1:
        return [0, len(word)]
    cuts = [at for at in range(1, len(word)) if _parts_at(kinds, at)]
    return [0, *cuts, len(word)] if len(cuts) < _MOST_HUMPS else [0, len(word)]


class _Kind(NamedTuple):
    digit: bool
    upper: bool
    script: Script


def _kinds(word: str) -> list[_Kind]:
    """Returns the kind of each character; marks have that of their letter."""
    kinds: list[_Kind] = []
    for character in word:
        if character.isalnum() or not kinds:
            kinds.append(_Kind(character.isnumeric(), character.isupper(), script_of(character)))
        else:
            kinds.append(kinds[-1])
    return kinds


def _parts_at(kinds: list[_Kind], at: int) -> bool:
    before, now = kinds[at - 1], kinds[at]
    if before is now:
        return False
    if before.digit or now.digit:
        return before.digit != now.digit
    if before.script is not now.script or (now.upper and not before.upper):
        return True
    # "XMLParser": the last capital belongs to what follows; but the plural "URLs" is one word.
    return before.upper and now.upper and at + 2 < len(kinds) and not kinds[at + 1].upper and not kinds[at + 1].digit

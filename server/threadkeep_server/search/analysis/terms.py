"""The indexed terms of a message."""

from __future__ import annotations

import re

from ...domain.search import Texts, Words
from ..dates.mentions import document_dates
from .analyzer import index_terms

QUESTION = "\ue1041"
"""The term of a message that ends with a question. It is the last of its terms."""

_SPEAKER = "\ue105"
_MOST_SPEAKER_TERMS = 8
_END = 240  # characters at the end of a message that are read
_MARKED = re.compile(r"[?？؟][^\w]{0,6}$")
_OF_ENGLISH = re.compile(
    r"(?:^|[.!?\n] ?)(?:(?:and|but|hey|ok|so),? )?(?:how|what|when|where|who|whom|whose|why|which|"
    r"(?:are|can|could|did|do|does|had|has|have|is|shall|should|was|were|will|would) "
    r"(?:any|he|her|his|i|it|our|she|that|the|their|there|they|this|we|you|your))\b[^.!?\n]*$",
    re.IGNORECASE,
)


def words_of(texts: Texts, time_ns: int, author: str = "") -> Words:
    """Returns the terms of each field, and those of the document itself: of its dates, that of `time_ns` (since 1970, UTC) and
    those that its texts mention (relative ones, "last Friday", are resolved against it), of its author, and QUESTION."""
    text, calls, results, media = map(index_terms, texts)
    own = [*document_dates(texts, time_ns), *speaker_terms(index_terms(author))]
    return Words(text, calls, results, media, [*own, QUESTION] if is_question(texts.text) else own)


def speaker_terms(names: list[str]) -> list[str]:
    """Returns the terms of an author by the analyzed words of the name."""
    return [_SPEAKER + term for term in dict.fromkeys(names)][:_MOST_SPEAKER_TERMS]


def is_question(text: str) -> bool:
    """Whether a message ends with a question: with its mark, or, as people write in a chat, without."""
    end = text[-_END:].rstrip()
    return bool(_MARKED.search(end) or _OF_ENGLISH.search(end))

"""The terms that earlier versions of the analyzer made of a question's words, where they differ from those of now.

While an index is renewed, a part of its events has terms of the version before. A question finds them there by these forms.
They are those of versions 2 and 3. A new version adds the rules that it changes, for as long as indexes of the version before
are in use.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from .normalize import JOINT, fold, snowball

_NUKTA = "\u093c"  # it was a part of the word
_JOINTS = re.compile(r"[.@/\\'’＇:_+#-]")
# 3.5GB and 10k: without the number as a whole.
_MEASURE = re.compile(r"\d[\d.,]*[^\W\d_]{1,4}")
_PIECE = re.compile(r"\d+|[^\W\d]+")


@lru_cache(1 << 14)
def earlier_forms(word: str) -> tuple[str, ...]:
    """Returns the earlier terms of a word of a question, or of a part of one; some may be those of now. Empty for words whose
    terms have not changed."""
    if _MEASURE.fullmatch(word):
        parts = [part for part in re.split("[.,]", word) if part]
        pieces = [JOINT.join(parts), *(piece for part in parts for piece in (part, *_PIECE.findall(part)))]
        return tuple(dict.fromkeys(snowball(fold(piece)) for piece in pieces))
    decomposed = unicodedata.normalize("NFD", word)
    letters = _JOINTS.sub("", decomposed if _NUKTA in decomposed else word)
    if not letters or any(map(str.isdecimal, letters)):
        return ()
    form = snowball(_NUKTA.join(map(fold, letters.split(_NUKTA))))
    return (form,) if form else ()

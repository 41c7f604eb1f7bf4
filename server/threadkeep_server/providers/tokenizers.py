"""Counting tokens: an estimate that needs nothing, or the tokenizers of two libraries that are extras.

A counter is chosen by name at start: `chars/4`, `tiktoken:<encoding>` or `bpe-openai:<encoding>`, say `tiktoken:cl100k_base`.
tiktoken fetches an encoding's vocabulary on its first use and keeps it in the directory that TIKTOKEN_CACHE_DIR names; where
there is no network, fill that directory beforehand. bpe-openai brings its vocabularies along, some 80 MB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from ..domain.text import estimate_tokens

CHARACTER_ESTIMATE = "chars/4"
FORMS = (CHARACTER_ESTIMATE, "tiktoken:<encoding>", "bpe-openai:<encoding>")

# Tokenizers slow down on long texts, and bpe-openai refuses more than 200,000 tokens at once: no character has more than four.
_PIECE = 50_000


class TokenCounter(Protocol):
    """Counts the tokens of a text. Safe to use from any thread."""

    @property
    def name(self) -> str:
        """What `token_counter` makes the same counter from."""
        ...

    def count(self, text: str) -> int:
        """Tokens of any text, however long; 0 only for the empty one."""
        ...


class CharacterEstimate:
    """One token for every four characters."""

    name = CHARACTER_ESTIMATE

    def count(self, text: str) -> int:
        return estimate_tokens(len(text))


class EncodingCounter:
    """Counts what an encoding makes of a text. Text that looks like a special token is text.

    More than 50,000 characters are counted in pieces that end before white space, as tokens mostly do: each piece may add a
    token, so that the count is that of the whole but for one in thousands.
    """

    def __init__(self, name: str, encode: Callable[[str], Sequence[int]]) -> None:
        self.name = name
        self._encode = encode

    def count(self, text: str) -> int:
        return sum(len(self._encode(piece)) for piece in _pieces(text))


def token_counter(name: str) -> TokenCounter:
    """The counter of that name, ready to count. Raises ValueError, which says what there is or what to do."""
    if name == CHARACTER_ESTIMATE:
        return CharacterEstimate()
    library, _, encoding = name.partition(":")
    load = _LIBRARIES.get(library)
    if load is None or not encoding:
        raise ValueError(f"no token counter {name!r}; use one of {', '.join(FORMS)}")
    try:
        return EncodingCounter(name, load(encoding))
    except ModuleNotFoundError as exc:
        raise ValueError(f"the token counter {name!r} needs the package {exc.name!r}; install 'threadkeep[tokens]'") from exc


def _tiktoken(encoding: str) -> Callable[[str], Sequence[int]]:
    import tiktoken

    _check_encoding(encoding, tiktoken.list_encoding_names())
    try:
        return tiktoken.get_encoding(encoding).encode_ordinary
    except (OSError, ValueError) as exc:  # no network, a directory that cannot be written, a file that is not the vocabulary
        raise ValueError(
            f"tiktoken cannot load {encoding!r} ({type(exc).__name__}): it fetches a vocabulary on first use; let it reach the"
            " network once, or set TIKTOKEN_CACHE_DIR to a directory that has it, or use bpe-openai, which brings its own"
        ) from exc


def _bpe_openai(encoding: str) -> Callable[[str], Sequence[int]]:
    import bpe_openai

    _check_encoding(encoding, ["cl100k_base", "o200k_base", "voyage3_base"])  # others it takes from tiktoken
    encode: Callable[[str], Sequence[int]] = bpe_openai.get_encoding(encoding).encode_ordinary
    return encode


_LIBRARIES = {"tiktoken": _tiktoken, "bpe-openai": _bpe_openai}


def _check_encoding(encoding: str, known: Sequence[str]) -> None:
    if encoding not in known:
        raise ValueError(f"no encoding {encoding!r}; use one of {', '.join(sorted(known))}")


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > _PIECE:
        limit = start + _PIECE
        # Before the last blank or line break, which the next token begins with; in the middle where there is none.
        cut = max(text.rfind(" ", start + 1, limit), text.rfind("\n", start + 1, limit))
        end = cut if cut > start else limit
        yield text[start:end]
        start = end
    yield text[start:]

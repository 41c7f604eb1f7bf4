"""Token counters: an estimate without dependencies, or the tokenizers of two optional libraries.

The name of a counter is `chars/4`, `tiktoken:<encoding>` or `bpe-openai:<encoding>`, such as `tiktoken:cl100k_base`. tiktoken
downloads the vocabulary of an encoding on first use and stores it in the directory TIKTOKEN_CACHE_DIR; without a network, fill
that directory beforehand. bpe-openai includes its vocabularies, about 80 MB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from ..domain.text import estimate_tokens

CHARACTER_ESTIMATE = "chars/4"
FORMS = (CHARACTER_ESTIMATE, "tiktoken:<encoding>", "bpe-openai:<encoding>")

# Tokenizers are slow on long texts, and bpe-openai rejects more than 200,000 tokens; a character has at most four.
_PIECE = 50_000


class TokenCounter(Protocol):
    """Counts the tokens of a text. Safe to use from any thread."""

    @property
    def name(self) -> str:
        """The argument of `token_counter` for the same counter."""
        ...

    def count(self, text: str) -> int:
        """Returns the tokens of a text of any length; 0 only for the empty text."""
        ...


class CharacterEstimate:
    """One token per four characters."""

    name = CHARACTER_ESTIMATE

    def count(self, text: str) -> int:
        return estimate_tokens(len(text))


class EncodingCounter:
    """Counts the tokens of an encoding. Text in the form of a special token is text.

    More than 50,000 characters are counted in pieces that end before white space, as most tokens do. Each piece may add one
    token to the count of the whole text.
    """

    def __init__(self, name: str, encode: Callable[[str], Sequence[int]]) -> None:
        self.name = name
        self._encode = encode

    def count(self, text: str) -> int:
        return sum(len(self._encode(piece)) for piece in _pieces(text))


def token_counter(name: str) -> TokenCounter:
    """Returns the counter of that name. Raises ValueError with the possible names, or with what to install."""
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
    except (OSError, ValueError) as exc:  # no network, a read-only directory, or an invalid file
        raise ValueError(
            f"tiktoken cannot load {encoding!r} ({type(exc).__name__}): it downloads a vocabulary on first use; connect it to"
            " the network once, or set TIKTOKEN_CACHE_DIR to a directory that has it, or use bpe-openai, which includes its own"
        ) from exc


def _bpe_openai(encoding: str) -> Callable[[str], Sequence[int]]:
    import bpe_openai

    _check_encoding(encoding, ["cl100k_base", "o200k_base", "voyage3_base"])  # other encodings come from tiktoken
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
        # Cuts before the last blank or line break, with which the next token begins; at the limit without one.
        cut = max(text.rfind(" ", start + 1, limit), text.rfind("\n", start + 1, limit))
        end = cut if cut > start else limit
        yield text[start:end]
        start = end
    yield text[start:]

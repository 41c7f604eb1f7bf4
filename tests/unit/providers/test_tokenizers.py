"""Token counters: names, failures, and texts of any length."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import sys
import time
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import pytest
import requests
import tiktoken

from threadkeep_server.providers.tokenizers import EncodingCounter, TokenCounter, token_counter

# bpe-openai opens its data by a function that Python 3.11 calls deprecated, and later ones do not.
pytestmark = pytest.mark.filterwarnings("ignore:open_binary is deprecated")

LINES = "User: When does BA117 leave?\nAssistant: At 10:05, from gate B12.\n\n"


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("漢字", 1)])
def test_the_estimate_takes_four_characters_for_a_token(text: str, tokens: int) -> None:
    counter = token_counter("chars/4")
    assert counter.name == "chars/4"
    assert counter.count(text) == tokens


# The examples of OpenAI's guide to counting tokens.
@pytest.mark.parametrize(
    ("name", "text", "tokens"),
    [
        ("bpe-openai:cl100k_base", "", 0),
        ("bpe-openai:cl100k_base", "hello world", 2),
        ("bpe-openai:cl100k_base", "tiktoken is great!", 6),
        ("bpe-openai:cl100k_base", "antidisestablishmentarianism", 6),
        ("bpe-openai:cl100k_base", "2 + 2 = 4", 7),
        ("bpe-openai:cl100k_base", "お誕生日おめでとう", 9),
        ("bpe-openai:o200k_base", "お誕生日おめでとう", 8),
        ("bpe-openai:o200k_base", "2 + 2 = 4", 7),
    ],
)
def test_an_encoding_counts_as_its_publisher_documents(name: str, text: str, tokens: int) -> None:
    counter = token_counter(name)
    assert counter.name == name
    assert counter.count(text) == tokens


@pytest.mark.parametrize("text", ["<|endoftext|>", "<|fim_prefix|> and <|endofprompt|>", "\x00", "half a pair \ud800"])
def test_any_text_can_be_counted(text: str) -> None:
    assert token_counter("bpe-openai:cl100k_base").count(text) > 0


def test_pieces_add_up() -> None:
    """A hundred times the text has a hundred times the tokens, however it is cut."""
    counter = token_counter("bpe-openai:cl100k_base")
    many = 5_000
    assert abs(counter.count(LINES * many) - counter.count(LINES) * many) <= len(LINES) * many // 50_000 + 1


@pytest.mark.parametrize(
    ("unit", "length"),
    [("🦀", 300_000), ("漢字", 1_000_000), ("x", 3_000_000), (" ", 3_000_000), ("\n", 3_000_000), ("a b", 3_000_000)],
)
def test_long_texts_of_any_content_are_counted(unit: str, length: int) -> None:
    """The library alone refuses these, for their characters or for their tokens."""
    counter = token_counter("bpe-openai:cl100k_base")
    began = time.monotonic()
    assert counter.count(unit * (length // len(unit))) > length // 200
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    "text", [LINES * 3000, "x" * 123_456, " " * 100_001, "x " + "y" * 200_000, "\n" + "z" * 49_999 + " end"]
)
def test_pieces_are_the_text_and_end_before_white_space_if_they_can(text: str) -> None:
    pieces: list[str] = []

    def encode(piece: str) -> list[int]:
        pieces.append(piece)
        return [0] * len(piece)

    assert EncodingCounter("any", encode).count(text) == len(text)
    assert "".join(pieces) == text
    assert all(0 < len(piece) <= 50_000 for piece in pieces)
    for before, after in itertools.pairwise(pieces):
        assert after[0] in " \n" or not (" " in before[1:] or "\n" in before[1:])


@pytest.mark.parametrize(
    "name", ["", "chars", "chars/4:", "tiktoken", "tiktoken:", "acme:cl100k_base", "BPE-OPENAI:cl100k_base"]
)
def test_an_unknown_name_is_answered_with_the_known_ones(name: str) -> None:
    with pytest.raises(ValueError, match=r"use one of chars/4, tiktoken:<encoding>, bpe-openai:<encoding>$"):
        token_counter(name)


@pytest.mark.parametrize("name", ["tiktoken:cl200k", "bpe-openai:cl200k", "bpe-openai:p50k_base"])
def test_an_unknown_encoding_is_answered_with_the_known_ones(name: str) -> None:
    with pytest.raises(ValueError, match=r"use one of cl100k_base, .*o200k_base"):
        token_counter(name)


@pytest.mark.parametrize(("name", "package"), [("tiktoken:cl100k_base", "tiktoken"), ("bpe-openai:cl100k_base", "bpe_openai")])
def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch, name: str, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ValueError, match=rf"needs the package '{package}'; install 'threadkeep\[tokens\]'"):
        token_counter(name)


@pytest.mark.parametrize("trouble", [ConnectionError("openaipublic"), PermissionError("denied"), ValueError("Hash mismatch")])
def test_a_missing_vocabulary_is_reported_at_once(monkeypatch: pytest.MonkeyPatch, trouble: Exception) -> None:
    def get_encoding(_: str) -> None:
        raise trouble

    fake = SimpleNamespace(get_encoding=get_encoding, list_encoding_names=lambda: ["cl100k_base"])
    monkeypatch.setitem(sys.modules, "tiktoken", fake)
    with pytest.raises(ValueError, match="set TIKTOKEN_CACHE_DIR") as reported:
        token_counter("tiktoken:cl100k_base")
    assert type(trouble).__name__ in str(reported.value)


def test_tiktoken_counts_ordinary_text_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """`encode` would refuse text that looks like a special token."""
    encoding = SimpleNamespace(encode_ordinary=lambda text: text.split())
    fake = SimpleNamespace(get_encoding={"cl100k_base": encoding}.__getitem__, list_encoding_names=lambda: ["cl100k_base"])
    monkeypatch.setitem(sys.modules, "tiktoken", fake)
    counter = token_counter("tiktoken:cl100k_base")
    assert counter.name == "tiktoken:cl100k_base"
    assert counter.count("a <|endoftext|> b") == 3


def test_tiktoken_itself_counts_from_its_cache_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The vocabulary is the same that bpe-openai brings along; it only has to be where tiktoken looks for it."""
    packed = resources.files("bpe_openai.data") / "cl100k_base.tiktoken.gz"
    with packed.open("rb") as file, gzip.open(file) as vocabulary:
        (tmp_path / hashlib.sha1(_VOCABULARY.encode()).hexdigest()).write_bytes(vocabulary.read())
    counter = _real_tiktoken(monkeypatch, tmp_path)
    other = token_counter("bpe-openai:cl100k_base")
    for text in (LINES, "2 + 2 = 4", "お誕生日おめでとう", "<|endoftext|>", "half a pair \ud800", LINES * 2000):
        assert counter.count(text) == other.count(text) > 0


def test_tiktoken_itself_fails_at_once_without_cache_and_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"cannot load 'cl100k_base' .*ConnectionError"):
        _real_tiktoken(monkeypatch, tmp_path)


_VOCABULARY = "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken"


def _real_tiktoken(monkeypatch: pytest.MonkeyPatch, cache: Path) -> TokenCounter:
    """The counter, made by a process that has loaded nothing yet and has no network."""

    def no_network(url: str) -> NoReturn:
        raise requests.ConnectionError(url)

    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(cache))
    monkeypatch.setattr(tiktoken.registry, "ENCODINGS", {})
    monkeypatch.setattr(requests, "get", no_network)
    return token_counter("tiktoken:cl100k_base")

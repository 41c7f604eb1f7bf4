"""The `hashing` embedder: local, deterministic, tolerant of typos, and for every script."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from threadkeep_server.providers.embedders.factory import open_embedder
from threadkeep_server.providers.embedders.hashing import HashingEmbedder, folded, tokens
from threadkeep_server.providers.embedders.options import EmbedderOptions

_SERVER = Path(__file__).parents[4] / "server"
TEXTS = ["Is flight BA117 on time?", "東京の天気は？", "Où est le café ?", "🎉", "", "नमस्ते दुनिया", "x" * 10_000]
# What the version in the model's name promises. A change here that is meant needs a new version, since vectors are stored.
GOLDEN = {
    "Is flight BA117 on time?": [
        -0.0835,
        0.0417,
        -0.5009,
        -0.167,
        -0.1252,
        0.167,
        0.0,
        0.167,
        -0.3339,
        -0.0835,
        -0.2504,
        0.1252,
        -0.2087,
        -0.2504,
        0.2087,
        0.5426,
    ],
    "東京の天気は？": [0.378, 0.0, 0.378, 0.0, 0.0, 0.378, -0.378, 0.378, 0.0, 0.0, 0.0, 0.0, 0.0, -0.378, 0.0, 0.378],
}


@pytest.fixture(scope="module")
def embedder() -> HashingEmbedder:
    return HashingEmbedder()


def alike(embedder: HashingEmbedder, one: str, other: str) -> float:
    return float(embedder.vector(one) @ embedder.vector(other))


async def test_rows_have_length_1_and_a_blank_text_zeros(embedder: HashingEmbedder) -> None:
    vectors = await embedder.embed(TEXTS)
    assert vectors.shape == (7, 384)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1, 1, 0, 1, 1], abs=1e-5)
    assert not (await embedder.embed([" .,;\n"])).any()
    assert (await embedder.embed([])).shape == (0, 384)


async def test_questions_are_embedded_as_texts_are(embedder: HashingEmbedder) -> None:
    assert (await embedder.embed(TEXTS, query=True)).tobytes() == (await embedder.embed(TEXTS)).tobytes()


def test_another_process_makes_the_same_bytes(embedder: HashingEmbedder) -> None:
    program = (
        "import asyncio, sys\n"
        "from threadkeep_server.providers.embedders.hashing import HashingEmbedder\n"
        f"texts = {TEXTS!r}\n"
        "sys.stdout.buffer.write(asyncio.run(HashingEmbedder().embed(texts)).tobytes())\n"
    )
    environment = {"PYTHONPATH": str(_SERVER), "PYTHONHASHSEED": "77", "PYTHONUTF8": "1"}
    made = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True, timeout=60)
    assert made.stdout == np.array([embedder.vector(text) for text in TEXTS]).tobytes()


@pytest.mark.parametrize("text", GOLDEN)
def test_vectors_of_a_version_do_not_change(text: str) -> None:
    assert HashingEmbedder(16).vector(text).tolist() == pytest.approx(GOLDEN[text], abs=1e-4)


def test_the_word_cache_does_not_change_a_vector() -> None:
    """Words are remembered up to a limit, then forgotten."""
    small = HashingEmbedder(dimension=16_384)
    assert small._words._capacity == 256
    first = small.vector("the parcel came on Friday").tobytes()
    for begin in range(0, 3_000, 50):
        small.vector(" ".join(f"word{n}" for n in range(begin, begin + 50)))
        assert len(small._words._rows) <= 256
    small.vector(" ".join(f"word{n}" for n in range(400)))  # more words than are ever remembered
    assert small.vector("the parcel came on Friday").tobytes() == first
    assert HashingEmbedder(dimension=16_384).vector("the parcel came on Friday").tobytes() == first


@pytest.mark.parametrize(
    ("meant", "typed"),
    [("receive", "recieve"), ("Lisbon", "Lissbon"), ("accommodation", "acomodation"), ("Wednesday", "Wendesday")],
)
def test_typos_are_nearer_than_other_words(embedder: HashingEmbedder, meant: str, typed: str) -> None:
    others = ["banana", "keyboard", "mountain", "invoice", "quickly", "umbrella", "flight", "hotel"]
    assert alike(embedder, meant, typed) > 0.2
    assert alike(embedder, meant, typed) > max(alike(embedder, meant, other) for other in others)


def test_a_question_finds_its_text_in_spite_of_typos(embedder: HashingEmbedder) -> None:
    texts = [
        "The accommodation in Lisbon has rooms from 90 euros.",
        "Alice would rather fly on Wednesday than on Friday.",
        "The invoice for the new keyboard came yesterday.",
        "It rained on the mountain all day long.",
    ]
    for question, wanted in [
        ("acomodation lissbon", 0),
        ("fly wendesday alise", 1),
        ("invoise keybord", 2),
        ("rainned montain", 3),
    ]:
        found = [alike(embedder, question, text) for text in texts]
        assert found.index(max(found)) == wanted, found


def test_case_accents_and_forms_do_not_matter(embedder: HashingEmbedder) -> None:
    for one, other in [("CAFÉ", "cafe"), ("Straße", "STRASSE"), ("ﬁne", "FINE"), ("Ｌｉｓｂｏｎ", "lisbon"), ("مُحَمَّد", "محمد")]:
        assert alike(embedder, one, other) == pytest.approx(1.0), one


@pytest.mark.parametrize(
    ("text", "question", "other"),
    [
        ("明日の東京の天気は晴れです", "東京の天気", "大阪で会議があります"),
        ("我想预订一家靠近港口的酒店", "港口酒店", "今天下午三点开会"),
        ("내일 서울 날씨가 맑습니다", "서울 날씨", "회의는 세 시에 있어요"),
        ("พรุ่งนี้อากาศที่กรุงเทพดี", "อากาศกรุงเทพ", "ประชุมตอนบ่ายสามโมง"),
        ("कल दिल्ली में मौसम अच्छा है", "दिल्ली मौसम", "बैठक तीन बजे होगी"),
    ],
    ids=["ja", "zh", "ko", "th", "hi"],
)
def test_other_scripts_are_found(embedder: HashingEmbedder, text: str, question: str, other: str) -> None:
    assert alike(embedder, text, question) > 0.3
    assert alike(embedder, text, question) > alike(embedder, other, question) + 0.15


def test_repeating_a_word_counts_less_than_other_words_would(embedder: HashingEmbedder) -> None:
    assert alike(embedder, "parcel " * 20 + "invoice", "invoice") > 0.15
    assert alike(embedder, "parcel " * 20 + "invoice", "parcel") > alike(embedder, "parcel invoice", "parcel")


def test_tokens() -> None:
    assert tokens("Is BA117 on-time?") == ["is", "ba117", "on", "time"]
    assert tokens("snake_case") == ["snake", "case"]
    assert tokens("東京へ go") == ["東", "京", "へ", "東京", "京へ", "go"]
    assert tokens("東") == ["東"]
    assert tokens("नमस्ते 🎉🎉") == ["नमस्ते", "🎉", "🎉"]
    assert folded("가 が İ") == "가 が i"


def test_a_lone_surrogate_causes_no_error(embedder: HashingEmbedder) -> None:
    assert alike(embedder, "hello \ud800", "hello") == pytest.approx(1.0)


def test_only_the_beginning_of_a_long_text_counts() -> None:
    short = HashingEmbedder(max_characters=5)
    assert short.vector("hello world").tobytes() == short.vector("hello").tobytes()


def test_the_model_name_has_version_and_dimension() -> None:
    for dimensions, name in [(0, "hashing-v1-384"), (128, "hashing-v1-128")]:
        options = EmbedderOptions(provider="hashing", dimensions=dimensions)
        embedder = open_embedder(options)
        assert embedder is not None
        assert embedder.model == options.name == name
        assert embedder.dimension == options.hashing_dimensions

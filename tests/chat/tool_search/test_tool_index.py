"""Search for tools by keywords and by embeddings."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from threadkeep.chat import ToolDefinition
from threadkeep.chat.tool_search.tool_index import KeywordRanking, fingerprint, text_of, words

from ..async_and_sync import Kit

TOOLS = [
    ToolDefinition("search_flights", "Finds flights between two cities on a day."),
    ToolDefinition("bookHotel", "Books a room in a hotel."),
    ToolDefinition("cancel_booking", "Cancels what was booked: a flight or a room."),
    ToolDefinition("currency", "Converts an amount of money from one currency into another."),
    ToolDefinition("get_weather", "Returns the weather of a city. Not for flights."),
    ToolDefinition("天気", "都市の天気予報を調べる"),
]


def found(query: str, limit: int = 5) -> list[str]:
    return [*KeywordRanking(TOOLS).best(query, limit)]


def test_keyword_ranking_puts_the_best_match_first() -> None:
    assert found("find a flight to Rome")[0] == "search_flights"
    assert found("book a hotel room")[0] == "bookHotel"
    assert found("what is the weather like?")[0] == "get_weather"
    assert found("converting currencies") == ["currency"]
    assert found("canceled bookings")[0] == "cancel_booking", "other forms of the words"
    assert found("the weather", 1) == ["get_weather"]


def test_keyword_ranking_weighs_name_above_description() -> None:
    tools = [ToolDefinition("a", "ship and more"), ToolDefinition("ship", "and more words"), ToolDefinition("b", "")]
    assert KeywordRanking(tools).best("ship", 5) == ("ship", "a")


def test_keyword_ranking_falls_back_to_prefix_of_a_word() -> None:
    assert found("curr") == ["currency"]
    assert found("cu") == []


def test_keyword_ranking_without_shared_word_finds_nothing() -> None:
    for query in ("zebra", "", "!?"):
        assert found(query) == []
    assert KeywordRanking([]).best("anything", 5) == ()


def test_keyword_ranking_searches_scripts_without_spaces() -> None:
    assert found("東京の天気") == ["天気"]


def test_keyword_ranking_sorts_equal_scores_by_name() -> None:
    tools = [ToolDefinition(name, "sends mail") for name in ("zeta", "alpha", "mid")]
    assert KeywordRanking(tools).best("mail", 2) == ("alpha", "mid")


def test_words_normalize_case_separators_and_inflection() -> None:
    assert words("getHTTPHeaders") == words("get_http_header") == words("get HTTP headers")
    assert words("ＦＩＮＤ") == words("find")
    assert words("pricing") == words("prices") == words("price")
    assert words("shipped") == words("ships") == words("ship")


def test_fingerprint_depends_on_names_and_descriptions_but_not_order() -> None:
    same = fingerprint(TOOLS)
    assert len(same) == 64
    assert fingerprint(reversed(TOOLS)) == same
    other = ToolDefinition("currency", TOOLS[3].description, {"type": "object"}, strict=True)
    assert fingerprint([*TOOLS[:3], other, *TOOLS[4:]]) == same, "schemas are not searched"
    assert fingerprint(TOOLS[1:]) != same
    assert fingerprint([ToolDefinition("ab", "c")]) != fingerprint([ToolDefinition("a", "bc")])
    assert fingerprint([ToolDefinition("a"), ToolDefinition("b")]) != fingerprint([ToolDefinition("a", "b")])


class Hashing:
    """An embedder that counts words in 256 dimensions by hash. It records the texts it received."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.threads: set[int] = set()

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        self.texts += texts
        self.threads.add(threading.get_ident())
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        vector = [0.0] * 256
        for word in words(text):
            vector[hashlib.sha256(word.encode()).digest()[0]] += 1
        return vector


async def test_embedding_index_finds_tools_by_vector(kit: Kit) -> None:
    embedder = Hashing()
    index = kit.EmbeddingToolIndex(embedder)
    await kit.of(index.put, "s", TOOLS)
    assert embedder.texts == [text_of(each) for each in TOOLS]
    assert embedder.texts[1] == "book Hotel: Books a room in a hotel."
    assert (await kit.of(index.find, "s", "convert money into another currency", 3))[0] == "currency"
    assert len(await kit.of(index.find, "s", "a city", 2)) == 2
    assert threading.get_ident() not in embedder.threads, "the event loop is not blocked"
    strict = kit.EmbeddingToolIndex(embedder, threshold=0.95)
    await kit.of(strict.put, "s", TOOLS)
    assert await kit.of(strict.find, "s", "currency", 3) == ()


async def test_coroutine_embedder_is_accepted_only_by_async_index(kit: Kit) -> None:
    embedder = Hashing()

    async def later(texts: Sequence[str]) -> list[list[float]]:
        await asyncio.sleep(0)
        return embedder(texts)

    index = kit.EmbeddingToolIndex(later)
    if kit.is_async:
        await index.put("s", TOOLS)
        assert (await index.find("s", "weather", 1)) == ("get_weather",)
    else:
        with pytest.raises(TypeError, match="use AsyncEmbeddingToolIndex"):
            index.put("s", TOOLS)


async def test_embedder_is_called_only_for_new_texts(kit: Kit) -> None:
    embedder = Hashing()
    index = kit.EmbeddingToolIndex(embedder)
    await kit.of(index.put, "one", TOOLS)
    embedder.texts.clear()
    await kit.of(index.put, "two", TOOLS)
    assert embedder.texts == []
    changed = [*TOOLS[1:], ToolDefinition("new", "Something else.")]
    await kit.of(index.put, "one", changed)
    assert embedder.texts == ["new: Something else."]
    for key in ("one", "two", "unknown"):
        await kit.of(index.drop, key)
    gc.collect()
    embedder.texts.clear()
    await kit.of(index.put, "one", TOOLS)
    assert len(embedder.texts) == len(TOOLS), "unused vectors are freed"


@pytest.mark.parametrize(
    ("vectors", "said"),
    [
        ([[1.0]], "must return 6 vectors of one length, for 6 texts; it returned 1"),
        ([[1.0], [1.0, 2.0], [1.0], [1.0], [1.0], [1.0]], "vectors of one length"),
        ([[float("nan")]] * 6, "not finite"),
    ],
)
async def test_invalid_embedder_vectors_are_rejected(kit: Kit, vectors: list[list[float]], said: str) -> None:
    index = kit.EmbeddingToolIndex(lambda texts: vectors)
    with pytest.raises(ValueError, match=said):
        await kit.of(index.put, "s", TOOLS)
    assert await kit.of(index.find, "s", "weather", 5) == ()


async def test_query_vector_of_other_length_is_rejected(kit: Kit) -> None:
    lengths = iter([2, 3])
    index = kit.EmbeddingToolIndex(lambda texts: [[1.0] * length for length in [next(lengths)] for _ in texts])
    await kit.of(index.put, "s", TOOLS)
    with pytest.raises(ValueError, match="length 3 for a query"):
        await kit.of(index.find, "s", "weather", 5)
    with pytest.raises(ValueError, match="threshold: between -1 and 1"):
        kit.EmbeddingToolIndex(Hashing(), threshold=2)


@pytest.mark.parametrize("kind", ["keyword", "embedding"])
async def test_equal_tool_sets_are_stored_once(kit: Kit, kind: str) -> None:
    index: Any = kit.KeywordToolIndex() if kind == "keyword" else kit.EmbeddingToolIndex(Hashing())
    for key, tools in (("one", TOOLS), ("two", [*reversed(TOOLS)]), ("three", TOOLS[1:])):
        await kit.of(index.put, key, tools)
    assert len({id(index._sets[key]) for key in ("one", "two", "three")}) == 2


@pytest.mark.parametrize("kind", ["keyword", "embedding"])
async def test_tool_sets_are_isolated_replaced_and_dropped_by_key(kit: Kit, kind: str) -> None:
    index: Any = kit.KeywordToolIndex() if kind == "keyword" else kit.EmbeddingToolIndex(Hashing(), threshold=0.1)
    await kit.of(index.put, "one", TOOLS[:1])
    await kit.of(index.put, "two", TOOLS[1:])
    assert await kit.of(index.find, "one", "weather currency", 5) == ()
    assert set(await kit.of(index.find, "two", "weather currency", 5)) == {"get_weather", "currency"}
    await kit.of(index.put, "one", TOOLS[4:])
    assert await kit.of(index.find, "one", "weather flights", 1) == ("get_weather",)
    assert "search_flights" not in await kit.of(index.find, "one", "flights", 5)
    await kit.of(index.drop, "one")
    await kit.of(index.drop, "one")
    assert await kit.of(index.find, "one", "weather", 5) == ()
    assert await kit.of(index.find, "two", "weather", 5) == ("get_weather",)

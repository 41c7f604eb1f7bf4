"""The directory of a model, in the layout of sentence-transformers and of most published ONNX models."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

POOLINGS = ("mean", "cls", "last")
_PLACES = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
_DEFAULT_TOKENS = 512
# Tokenizers without a limit name a huge number.
_MOST_TOKENS = 65_536
# Their positions begin after the number of the padding token: 514 positions are for 512 tokens.
_POSITIONS_AFTER_PADDING = {"camembert", "mpnet", "roberta", "xlm-roberta"}
_POOLING_FLAGS = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "last",
}


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The files of one model, and what they say about its use. `pooling`: one of POOLINGS, empty if the directory does not say;
    `query_prefix` and `document_prefix`: empty without."""

    folder: Path
    model: Path
    tokenizer: Path
    max_tokens: int
    pooling: str
    query_prefix: str
    document_prefix: str

    def digest(self) -> str:
        """Returns 8 hexadecimal digits that change with the weights or the tokenizer. Reads the whole files."""
        found = hashlib.sha256()
        for path in (self.model, *_external_data(self.model), self.tokenizer):
            with path.open("rb") as file:
                found.update(hashlib.file_digest(file, "sha256").digest())
        return found.hexdigest()[:8]


def read_model_files(path: Path) -> ModelFiles:
    """Returns the files of the directory `path`; of a file `*.onnx` those of its directory, with this file as the model. Raises
    ValueError if one is missing or cannot be read; the message says what to do."""
    if not path.exists():
        raise ValueError(f"there is no {path}; name a directory with model.onnx and tokenizer.json")
    model = path if path.is_file() else _find_model(path)
    folder = path if path.is_dir() else path.parent
    if folder.name == "onnx" and not (folder / "tokenizer.json").exists():
        folder = folder.parent
    tokenizer = folder / "tokenizer.json"
    if not tokenizer.is_file():
        raise ValueError(f"there is no {tokenizer}; copy the model's tokenizer.json (of its fast tokenizer) there")
    query_prefix, document_prefix = _prefixes(folder)
    return ModelFiles(folder, model, tokenizer, _max_tokens(folder), _pooling(folder), query_prefix, document_prefix)


def _find_model(folder: Path) -> Path:
    for place in _PLACES:
        if (folder / place).is_file():
            return folder / place
    found = sorted({*folder.glob("*.onnx"), *folder.glob("onnx/*.onnx")})
    if not found:
        raise ValueError(f"there is no *.onnx in {folder}; export the model to ONNX, or name another directory")
    if len(found) > 1:
        names = ", ".join(str(each.relative_to(folder)) for each in found)
        raise ValueError(f"{folder} has several models ({names}); name one of these files instead of the directory")
    return found[0]


def _external_data(model: Path) -> list[Path]:
    """Weights of large models are in a file next to them."""
    return [path for suffix in ("_data", ".data") if (path := model.with_name(model.name + suffix)).is_file()]


def _read(path: Path) -> dict[str, Any]:
    """Returns the JSON object of a file; empty without the file."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read ({type(error).__name__}); copy it again") from None
    if not isinstance(found, dict):
        raise ValueError(f"{path} is not a JSON object; copy it again")
    return found


def _max_tokens(folder: Path) -> int:
    for name, field in (("sentence_bert_config.json", "max_seq_length"), ("tokenizer_config.json", "model_max_length")):
        value = _read(folder / name).get(field)
        if isinstance(value, int | float) and 0 < value <= _MOST_TOKENS:
            return int(value)
    return _positions(folder) or _DEFAULT_TOKENS


def _positions(folder: Path) -> int:
    """Returns the most tokens that have a position; 0 if the directory does not say."""
    config = _read(folder / "config.json")
    positions, padding = config.get("max_position_embeddings"), config.get("pad_token_id")
    if not isinstance(positions, int):
        return 0
    if str(config.get("model_type")) in _POSITIONS_AFTER_PADDING:
        positions -= 1 + (padding if isinstance(padding, int) else 1)
    return positions if 0 < positions <= _MOST_TOKENS else 0


def _pooling(folder: Path) -> str:
    flags = {name for name, value in _read(folder / "1_Pooling" / "config.json").items() if value is True}
    modes = {name for name in flags if name.startswith("pooling_mode_")}
    if not modes:
        return ""
    if len(modes) == 1 and (mode := modes.pop()) in _POOLING_FLAGS:
        return _POOLING_FLAGS[mode]
    raise ValueError(f"{folder / '1_Pooling/config.json'} names a pooling other than {', '.join(POOLINGS)}; set the pooling")


def _prefixes(folder: Path) -> tuple[str, str]:
    prompts = _read(folder / "config_sentence_transformers.json").get("prompts")
    if not isinstance(prompts, dict):
        return "", ""

    def first(*names: str) -> str:
        return next((prompts[name] for name in names if isinstance(prompts.get(name), str)), "")

    return first("query", "search_query"), first("document", "passage", "search_document")

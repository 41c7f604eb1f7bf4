"""A model and its tokenizer, executed in one thread of their own, so that they never block the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ProviderError
from .files import ModelFiles, read_model_files

TEXTS_AT_ONCE = 8
"""Texts of one execution. Another call waits for one execution at most, and a canceled call ends after it."""

_KNOWN_INPUTS = {"input_ids", "attention_mask", "token_type_ids"}
_Result = TypeVar("_Result")

Mask = NDArray[np.int64]


class OnnxModel:
    """The session of onnxruntime, with `threads` threads of its own. Texts are cut after `max_tokens`. `whose` is the
    component, such as "the embedder". Raises ValueError, whose message says what to do, if the packages are missing or the
    files cannot be used."""

    def __init__(self, files: ModelFiles, *, whose: str, max_tokens: int, threads: int) -> None:
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ModuleNotFoundError as error:
            raise ValueError(
                f"{whose} 'onnx' needs the package {error.name!r}; install 'threadkeep[embedder-local]'"
            ) from error
        self.files = files
        self.max_tokens = max_tokens
        try:
            self._tokenizer = Tokenizer.from_file(str(files.tokenizer))
            self._tokenizer.no_padding()
            self._tokenizer.enable_truncation(max_tokens)
        except Exception as error:  # the library raises a bare Exception
            raise ValueError(f"{files.tokenizer} cannot be read ({first_line(error)}); copy it again") from None
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4  # its log may quote paths and shapes on standard error
        # Idle threads would otherwise spin, which takes the cores of the server.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._session = onnxruntime.InferenceSession(str(files.model), options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise ValueError(f"{files.model} cannot be loaded ({first_line(error)}); export or copy it again") from None
        self._inputs = {each.name for each in self._session.get_inputs()}
        if unknown := self._inputs - _KNOWN_INPUTS:
            raise ValueError(f"{files.model} needs the input {min(unknown)!r}; export it as an encoder of texts")
        self.outputs = [each.name for each in self._session.get_outputs()]
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="onnx")

    def run(self, texts: Sequence[str] | Sequence[tuple[str, str]], output: int) -> tuple[NDArray[np.float32], Mask]:
        """Returns the output of this number for texts, or pairs of texts, and the mask (n, tokens) of their tokens."""
        # One by one: a batch would use all cores for the tokenizer.
        encoded = [self._tokenizer.encode(*((each,) if isinstance(each, str) else each)) for each in texts]
        shape = (len(encoded), max(1, *(len(each.ids) for each in encoded)))
        fed: dict[str, NDArray[np.int64]] = {name: np.zeros(shape, np.int64) for name in _KNOWN_INPUTS}
        for row, each in enumerate(encoded):
            fed["input_ids"][row, : len(each.ids)] = each.ids
            fed["token_type_ids"][row, : len(each.ids)] = each.type_ids
            fed["attention_mask"][row, : len(each.ids)] = 1
        wanted: Any = self._session.run([self.outputs[output]], {name: fed[name] for name in self._inputs})[0]
        return np.asarray(wanted, np.float32), fed["attention_mask"]

    async def call(self, work: Callable[..., _Result], *args: Any) -> _Result:
        """Runs `work` in the thread of the model. Raises ProviderError for its failures."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, work, *args)
        except Exception as error:
            raise ProviderError(f"could not run its model ({type(error).__name__})") from error

    def close(self) -> None:
        """Ends the thread after the current execution. Idempotent."""
        self._executor.shutdown(wait=False, cancel_futures=True)


def open_model(path: str, *, whose: str, max_tokens: int, threads: int) -> OnnxModel:
    """Returns the model of a directory, or of one file of it. `max_tokens`: 0 is the model's own limit, which is also the most.
    Raises ValueError."""
    files = read_model_files(Path(path).expanduser())
    return OnnxModel(files, whose=whose, max_tokens=min(max_tokens or files.max_tokens, files.max_tokens), threads=threads)


def first_line(error: Exception) -> str:
    """Returns the first line of its message, at most 200 characters; its type without one."""
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]

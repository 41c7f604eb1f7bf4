"""Durations and token usage of model calls, as metrics of OpenTelemetry's conventions for generative AI."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from opentelemetry import metrics
from opentelemetry.metrics import MeterProvider

from ..errors import ModelFailed
from ..types.responses import Usage

_SECONDS = [0.01 * 2**n for n in range(14)]
_TOKENS = [4**n for n in range(14)]


class Counted(Protocol):
    """A model call in progress."""

    @property
    def usage(self) -> Usage: ...
    @property
    def model(self) -> str: ...


class Measures:
    """Records `gen_ai.client.operation.duration` in seconds and `gen_ai.client.token.usage` in tokens for each model call."""

    __slots__ = ("_durations", "_tokens")

    def __init__(self, meter_provider: MeterProvider | None = None) -> None:
        meter = metrics.get_meter("threadkeep.chat", meter_provider=meter_provider)
        self._durations = meter.create_histogram(
            "gen_ai.client.operation.duration", "s", "How long a call took.", explicit_bucket_boundaries_advisory=_SECONDS
        )
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage", "{token}", "Tokens read and written.", explicit_bucket_boundaries_advisory=_TOKENS
        )

    @contextmanager
    def chat(self, provider: str, model: str, call: Counted) -> Iterator[None]:
        """Measures the model call in the block. `model`: the requested model."""
        began, failed = time.perf_counter(), ""
        try:
            yield
        except GeneratorExit:
            raise
        except BaseException as error:
            failed = error_type(error)
            raise
        finally:
            about = _known(
                {
                    "gen_ai.operation.name": "chat",
                    "gen_ai.provider.name": provider,
                    "gen_ai.request.model": model,
                    "gen_ai.response.model": call.model,
                }
            )
            self._durations.record(time.perf_counter() - began, about | _known({"error.type": failed}))
            if call.usage:
                self._tokens.record(call.usage.input_tokens, about | {"gen_ai.token.type": "input"})
                self._tokens.record(call.usage.output_tokens, about | {"gen_ai.token.type": "output"})


def error_type(error: BaseException) -> str:
    """Returns `error.type`: the HTTP status of a model's endpoint if there is one, else the qualified class name."""
    if isinstance(error, ModelFailed) and error.status:
        return str(error.status)
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _known(attributes: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in attributes.items() if value}

"""Metrics of model calls, as a reader collects them."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.semconv._incubating.metrics import gen_ai_metrics

from threadkeep.chat import ChatResponse, Generation, ModelFailed, Usage, assistant

from ..async_and_sync import Kit, Way

WHOLE = ChatResponse((Generation(assistant("Good evening"), "stop"),), Usage(11, 7, 18), model="scripted-2026-11")
ABOUT = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "scripted", "gen_ai.request.model": "scripted"}
ANSWERED = {**ABOUT, "gen_ai.response.model": "scripted-2026-11"}


class Measured:
    def __init__(self) -> None:
        self._reader = InMemoryMetricReader()
        self.provider = MeterProvider([self._reader])

    def points(self, name: str) -> list[Any]:
        data = self._reader.get_metrics_data()
        metrics = (
            [metric for of in data.resource_metrics for scope in of.scope_metrics for metric in scope.metrics] if data else []
        )
        return [point for metric in metrics if metric.name == name for point in metric.data.data_points]


@pytest.fixture
def measured() -> Any:
    kept = Measured()
    yield kept
    kept.provider.shutdown()


async def test_model_calls_record_tokens_and_duration(kit: Kit, way: Way, measured: Measured) -> None:
    client = kit.ChatClient(kit.ScriptedModel([WHOLE, WHOLE]), meter_provider=measured.provider)
    for _ in range(2):
        await way.ask(client.prompt("Hello"))
    tokens = measured.points(gen_ai_metrics.GEN_AI_CLIENT_TOKEN_USAGE)
    assert {point.attributes["gen_ai.token.type"]: (point.count, point.sum) for point in tokens} == {
        "input": (2, 22),
        "output": (2, 14),
    }
    assert all(
        dict(point.attributes) == {**ANSWERED, "gen_ai.token.type": point.attributes["gen_ai.token.type"]} for point in tokens
    )
    assert list(tokens[0].explicit_bounds)[:4] == [1, 4, 16, 64]
    [seconds] = measured.points(gen_ai_metrics.GEN_AI_CLIENT_OPERATION_DURATION)
    assert (seconds.count, dict(seconds.attributes)) == (2, ANSWERED)
    assert (0 < seconds.sum < 60, seconds.explicit_bounds[0]) == (True, 0.01)


async def test_failed_model_call_records_duration_with_error_type(kit: Kit, way: Way, measured: Measured) -> None:
    client = kit.ChatClient(kit.ScriptedModel([ModelFailed("busy", status=429)]), meter_provider=measured.provider)
    with pytest.raises(ModelFailed):
        await way.ask(client.prompt("Hello"))
    [seconds] = measured.points(gen_ai_metrics.GEN_AI_CLIENT_OPERATION_DURATION)
    assert (seconds.count, dict(seconds.attributes)) == (1, {**ABOUT, "error.type": "429"})
    assert measured.points(gen_ai_metrics.GEN_AI_CLIENT_TOKEN_USAGE) == []


async def test_model_call_without_usage_records_no_tokens(kit: Kit, way: Way, measured: Measured) -> None:
    await way.ask(kit.ChatClient(kit.ScriptedModel(["Hi"]), meter_provider=measured.provider).prompt("Hello"))
    assert len(measured.points(gen_ai_metrics.GEN_AI_CLIENT_OPERATION_DURATION)) == 1
    assert measured.points(gen_ai_metrics.GEN_AI_CLIENT_TOKEN_USAGE) == []


async def test_closed_stream_records_duration_without_error(kit: Kit, measured: Measured) -> None:
    stream = kit.ChatClient(kit.ScriptedModel([WHOLE]), meter_provider=measured.provider).prompt("Hello").stream()
    if kit.is_async:
        await anext(stream)
        await stream.aclose()
    else:
        next(stream)
        stream.close()
    [seconds] = measured.points(gen_ai_metrics.GEN_AI_CLIENT_OPERATION_DURATION)
    assert dict(seconds.attributes) == ANSWERED

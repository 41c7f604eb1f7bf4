"""Traces and exported metrics are off unless a setting or a standard variable turns them on; what is wrong is named."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from threadkeep_server.app.telemetry import open_telemetry
from threadkeep_server.config.settings import ConfigError, Settings
from threadkeep_server.telemetry import spans

EXPORT = "threadkeep_server.telemetry.otlp.export"


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TRACES_EXPORTER", "METRICS_EXPORTER", "TRACES_SAMPLER", "TRACES_SAMPLER_ARG", "SDK_DISABLED"):
        monkeypatch.delenv(f"OTEL_{name}", raising=False)


async def traced(**settings: Any) -> bool:
    """Reports whether a call is traced with these settings. The collector does not exist, and nothing is sent to it."""
    async with open_telemetry(Settings(otlp_endpoint="http://127.0.0.1:9", **settings)) as telemetry:
        call = telemetry.rpcs.rpc("S", "M", streaming=False).begin()
        recorded = spans.recorded() is not None
        if not recorded:
            call.succeeded()
        spans.enter(None)
        return recorded


async def test_traces_are_off_by_default() -> None:
    assert not await traced()


async def test_a_setting_or_the_standard_variable_turns_traces_on(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await traced(export_traces="otlp")
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    assert await traced()
    assert not await traced(export_traces="none")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0")
    assert not await traced()
    assert await traced(traces_sampler_ratio=1.0)
    assert not await traced(traces_sampler="always_off")
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    assert not await traced(export_traces="otlp")


@pytest.mark.parametrize(
    ("variable", "value", "problem"),
    [
        ("OTEL_TRACES_EXPORTER", "jaeger", "export_traces: OTEL_TRACES_EXPORTER is 'jaeger'"),
        ("OTEL_TRACES_SAMPLER", "sometimes", "traces_sampler: must be one of always_on"),
        ("OTEL_TRACES_SAMPLER_ARG", "many", "traces_sampler: could not convert"),
    ],
)
async def test_a_wrong_variable_is_named(monkeypatch: pytest.MonkeyPatch, variable: str, value: str, problem: str) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigError) as refused:
        await traced()
    [found] = refused.value.problems
    assert found.startswith(problem)


async def test_without_the_extra_the_problem_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, EXPORT, raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.grpc.trace_exporter", None)
    with pytest.raises(ConfigError, match=r"install 'threadkeep\[otel\]'"):
        await traced(export_traces="otlp")

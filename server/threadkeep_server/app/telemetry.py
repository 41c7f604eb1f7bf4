"""Composition of metrics and traces."""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import Final

from ..config.settings import ConfigError, Settings
from ..service.call_limit import CallLimit
from ..service.sweeper import Sweeper
from ..store.contract.maintenance import MaintenanceStore
from ..telemetry.loop_delay import watch_loop
from ..telemetry.meters import Meters
from ..telemetry.rpcs import Rpcs
from ..transport.audit.file import AuditFile
from ..transport.failed_logins import FailedLogins
from ..transport.http.metrics import Metrics, Sources
from .compaction import end

_SAMPLER: Final = "parentbased_always_on"
_INTERVAL_MS: Final = 60_000


def _exports(setting: str, variable: str, name: str) -> bool:
    """Whether something is exported. Raises ConfigError."""
    value = setting or os.environ.get(variable, "") or "none"
    if value not in ("none", "otlp"):
        raise ConfigError([f"{name}: {variable} is {value!r}; the server exports over otlp only, or none"])
    if value == "none" or os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    try:
        from ..telemetry.otlp.export import resource_of  # noqa: F401 - its libraries are optional
    except ModuleNotFoundError as exc:
        raise ConfigError([f"{name}: needs the package {exc.name!r}; install 'threadkeep[otel]'"]) from exc
    return True


@dataclass(frozen=True, slots=True)
class Telemetry:
    """What measures and traces calls, and the id under which the server exports."""

    rpcs: Rpcs
    instance: str
    ports: dict[str, int] = field(default_factory=dict)
    """The bound ports, by name, once they are open."""

    @property
    def meters(self) -> Meters:
        return self.rpcs.meters


@asynccontextmanager
async def open_telemetry(settings: Settings) -> AsyncIterator[Telemetry]:
    """Traces calls while the context is open, if that is on. Raises ConfigError."""
    instance = str(uuid.uuid4())
    if not _exports(settings.export_traces, "OTEL_TRACES_EXPORTER", "export_traces"):
        yield Telemetry(Rpcs(Meters()), instance)
        return
    from ..telemetry.otlp.export import open_tracer, resource_of
    from ..telemetry.otlp.sampling import sampling_of

    release = version("threadkeep")
    try:
        sampler = settings.traces_sampler or os.environ.get("OTEL_TRACES_SAMPLER", "") or _SAMPLER
        sampling = sampling_of(sampler, _ratio(settings))
    except ValueError as error:
        raise ConfigError([f"traces_sampler: {error}"]) from None
    resource = resource_of(release, instance)
    tracer = await asyncio.to_thread(open_tracer, resource, settings.otlp_endpoint, sampling, release)
    try:
        yield Telemetry(Rpcs(Meters(), tracer), instance)
    finally:
        await asyncio.to_thread(tracer.close)


@asynccontextmanager
async def exporting(settings: Settings, telemetry: Telemetry, metrics: Metrics) -> AsyncIterator[Metrics]:
    """Yields the metrics, and exports them while the context is open, if that is on. Raises ConfigError."""
    watch = asyncio.create_task(watch_loop(telemetry.meters.loop_delay.child()), name="watch of the loop")
    try:
        async with _exporting(settings, telemetry, metrics):
            yield metrics
    finally:
        await end(watch)


@asynccontextmanager
async def _exporting(settings: Settings, telemetry: Telemetry, metrics: Metrics) -> AsyncIterator[None]:
    if not _exports(settings.export_metrics, "OTEL_METRICS_EXPORTER", "export_metrics"):
        yield
        return
    from ..telemetry.otlp.export import open_metrics, resource_of

    release = version("threadkeep")
    resource = resource_of(release, telemetry.instance)
    export = await asyncio.to_thread(open_metrics, resource, settings.otlp_endpoint, release, time.time_ns)
    interval_s = int(os.environ.get("OTEL_METRIC_EXPORT_INTERVAL", "") or _INTERVAL_MS) / 1000
    task = asyncio.create_task(export.run(metrics.readings, interval_s), name="export of metrics")
    try:
        yield
    finally:
        await end(task)
        await asyncio.to_thread(export.close)


def _ratio(settings: Settings) -> float:
    """Returns the part of the traces to record. Raises ValueError."""
    if settings.traces_sampler_ratio is not None:
        return settings.traces_sampler_ratio
    return float(os.environ.get("OTEL_TRACES_SAMPLER_ARG", "") or 1)


def with_ports(
    sources: Sources,
    telemetry: Telemetry,
    store: MaintenanceStore,
    audit: AuditFile | None,
    logins: FailedLogins | None,
    sweeper: Sweeper,
    calls: CallLimit,
) -> Sources:
    """Returns the sources with those of the ports, the store and the sweep."""
    return replace(
        sources,
        meters=telemetry.meters,
        ports=telemetry.ports,
        pool=lambda: store.pool,
        stored_bytes=store.stored_bytes,
        version=version("threadkeep"),
        audit_lost=None if audit is None else audit.lost,
        failed_logins=None if logins is None else logins.total,
        sweep_held=lambda: sweeper.hold is not None,
        calls_in_flight=lambda: calls.count,
    )

"""The server's resident memory, idle and while a million events pass through it."""

import time
from dataclasses import dataclass
from typing import Any

from tests.bench.harness import Bench, Server
from tests.bench.payloads import EVENT_BYTES
from tests.bench.processes import ChildError
from tests.bench.processes import memory as resident
from tests.bench.report import Line, at_most

IDLE_MIB = 150
FLAT = 1.15
SETTLE_SECONDS = 3.0
SAMPLE_SECONDS = 0.25


@dataclass(frozen=True)
class Track:
    """Memory while one job ran, in MiB."""

    samples: list[float]
    anonymous: list[float]

    @property
    def peak(self) -> float:
        """The most that was resident."""
        return max(self.samples)

    @property
    def early(self) -> float:
        """The most that was resident in the first quarter, when caches have filled."""
        return max(self.samples[: max(len(self.samples) // 4, 1)])


def _track(bench: Bench, server: Server, op: str, **job: Any) -> Track:
    limit = 120 + bench.scale.memory_events * 0.002
    deadline = time.monotonic() + limit
    track = Track([], [])
    bench.driver.submit(op, limit, target=server.target, **job)
    while True:
        done = bench.driver.poll(SAMPLE_SECONDS)
        now = resident(server.pid)
        track.samples.append(now.resident)
        track.anonymous.append(now.anonymous)
        if done is not None:
            return track
        if time.monotonic() > deadline + 10:
            raise ChildError(f"{op} did not end within {limit:,.0f} s")


def memory(bench: Bench, engine: str) -> list[Line]:
    """Idle, while importing and while exporting; with the indexer on, as by default."""
    scale = bench.scale
    each = scale.memory_events // scale.memory_sessions
    names = [f"s{number:05d}" for number in range(scale.memory_sessions)]
    with bench.database(engine) as database, bench.server(database, index=True) as server:
        bench.say(f"idle memory on {engine}")
        time.sleep(SETTLE_SECONDS)
        idle = resident(server.pid).resident
        bench.say(f"importing {scale.memory_events:,} events on {engine}")
        job = {"per_user": each, "size": EVENT_BYTES, "plant": False, "batch": 100, "in_flight": 4}
        loading = _track(bench, server, "load", sessions=[(name, "u000", 0, each) for name in names], **job)
        bench.say(f"exporting {scale.memory_events:,} events on {engine}")
        draining = _track(bench, server, "drain", sessions=[(name, "u000") for name in names])
    lines = [Line("memory", engine, "idle, resident", f"{idle:,.0f} MiB", "", idle, at_most(IDLE_MIB, " MiB"))]
    for what, track in (("importing", loading), ("exporting", draining)):
        text = f"while {what} {scale.memory_events:,} events: peak ÷ peak of its first quarter"
        note = f"{track.peak - idle:+,.0f} MiB over idle at the peak; anonymous {max(track.anonymous):,.0f} MiB"
        details = {"resident_mib": track.samples[:: max(len(track.samples) // 200, 1)], "idle_mib": idle}
        shown = (f"{track.peak:,.0f} MiB", f"{track.early:,.0f} MiB")
        lines.append(Line("memory", engine, text, *shown, track.peak / track.early, at_most(FLAT), note, details=details))
    return lines

"""A soak: rounds of low load for hours, and what memory, descriptors, threads and latencies do meanwhile."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tests.sizing.judging import judge
from tests.sizing.samples import sample
from tests.sizing.servers import ENGINES, Place, place

_SAMPLE_SECONDS = 10.0
_IDLE_SECONDS = 6.0
"""After a round, until what it used is closed."""


@dataclass(frozen=True, slots=True)
class Soak:
    """The options."""

    engines: tuple[str, ...] = ENGINES
    hours: float = 2.0
    round_seconds: float = 300.0
    rate: float = 1.0
    folder: Path = Path("soak")

    @property
    def load(self) -> list[str]:
        """The command of a round."""
        command = [str(Path(sys.executable).with_name("threadkeep")), "bench", "--json", "--seed", "1"]
        sizes = {"sessions": 10, "writers": 2, "watchers": 3, "readers": 1, "searchers": 1}
        command += [each for name, number in sizes.items() for each in (f"--{name}", str(number))]
        return [*command, "--rate", f"{self.rate:g}", "--duration", f"{self.round_seconds:g}s"]


def run(soak: Soak) -> int:
    """Soaks the engines side by side; returns the exit status: 1 if a judgment failed."""
    soak.folder.mkdir(parents=True, exist_ok=True)
    for engine in soak.engines:
        _file(soak.folder, engine).unlink(missing_ok=True)
    failed = threading.Event()
    with contextlib.ExitStack() as stack:
        places = [stack.enter_context(place(engine, soak.folder)) for engine in soak.engines]
        servers = [(each, stack.enter_context(each.server())) for each in places]
        ends = time.monotonic() + soak.hours * 3600
        threads = [threading.Thread(target=_soak, args=(soak, each, pid, ends, failed), daemon=True) for each, pid in servers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return show(soak.folder) or int(failed.is_set())


def show(folder: Path) -> int:
    """Prints the judgments of the soak so far; returns 1 if one failed or there is none."""
    found = [(engine, _rounds(folder, engine)) for engine in ENGINES if _file(folder, engine).exists()]
    failed = not found
    for engine, rounds in found:
        last = rounds[-1]
        print(f"{engine}: {len(rounds)} rounds, {last['hours']:.2f} h, the server used {last['cpu_share']:.1%} of a core")
        for verdict in judge(rounds):
            failed = failed or verdict.passed is False
            print(f"  {verdict}")
    sys.stdout.flush()
    return int(failed)


def _soak(soak: Soak, where: Place, pid: int, ends: float, failed: threading.Event) -> None:
    began = time.monotonic()
    number = 0
    try:
        while time.monotonic() + soak.round_seconds / 2 < ends:
            found = _round(soak, where, pid)
            hours = (time.monotonic() - began) / 3600
            share = sample(pid).cpu / (hours * 3600)
            with _file(soak.folder, where.engine).open("a") as file:
                file.write(json.dumps({"hours": hours, "cpu_share": share, **found}) + "\n")
            number += 1
            if number % 6 == 0:
                show(soak.folder)
    except Exception as error:
        failed.set()
        print(f"{where.engine}: {type(error).__name__}: {error}", flush=True)


def _round(soak: Soak, where: Place, pid: int) -> dict[str, Any]:
    """Runs one round and returns what it found."""
    anonymous, control = [], []
    with _load(soak, where) as load, grpc.insecure_channel(where.address) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        while load.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                load.wait(_SAMPLE_SECONDS)
            anonymous.append(sample(pid).anonymous)
            control.append(_control_ms(health))
        assert load.stdout is not None
        result: Mapping[str, Any] = json.loads(load.stdout.read().splitlines()[-1])["result"]
    time.sleep(_IDLE_SECONDS)
    idle = asdict(sample(pid))
    operations = result["operations"]
    return {
        "anonymous": median(anonymous),
        "resident": idle["resident"],
        "descriptors": idle["descriptors"],
        "threads": idle["threads"],
        "control_ms": median(control),
        "p50_ms": {name: each["p50_ms"] for name, each in operations.items()},
        "p95_ms": {name: each["p95_ms"] for name, each in operations.items()},
        "counts": {name: each["count"] for name, each in operations.items()},
        "exact": result["check"]["exact"] and load.returncode == 0,
        "errors": {name: each["errors"] for name, each in operations.items() if each["errors"]},
        "check": result["check"],
    }


@contextlib.contextmanager
def _load(soak: Soak, where: Place) -> Iterator[subprocess.Popen[str]]:
    command = [*soak.load, "--address", where.address]
    log = soak.folder / where.engine / "bench.log"
    with log.open("a") as errors, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as started:
        try:
            yield started
        finally:
            if started.poll() is None:
                started.terminate()


def _control_ms(health: Any) -> float:
    """The median of three calls that do not reach the database."""
    found = []
    for _ in range(3):
        began = time.perf_counter()
        health.Check(health_pb2.HealthCheckRequest(), timeout=60)
        found.append((time.perf_counter() - began) * 1e3)
    return median(found)


def _file(folder: Path, engine: str) -> Path:
    return folder / f"{engine}.jsonl"


def _rounds(folder: Path, engine: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in _file(folder, engine).read_text().splitlines()]

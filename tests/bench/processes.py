"""Child processes: started in their own group, always ended; and what /proc says about them."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STOP_SECONDS = 15.0
TICKS = os.sysconf("SC_CLK_TCK")


class ChildError(RuntimeError):
    """A child process did not start, or ended when it should not have."""


@dataclass(frozen=True)
class Memory:
    """Resident memory in MiB."""

    resident: float
    anonymous: float


def free_port() -> int:
    """A port of the loopback interface that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def environment(changes: Mapping[str, str]) -> dict[str, str]:
    """This process's environment without anything that configures Threadkeep, plus `changes`."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("THREADKEEP_")}
    return kept | dict(changes)


def end_on_signals() -> None:
    """Makes Ctrl-C, SIGTERM and SIGHUP unwind the program, so that it ends its children; a second one does not disturb that."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def unwind(*_: object) -> None:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in numbers:
        signal.signal(number, unwind)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ends the process and everything it started, unless it has ended by itself."""
    for how, seconds in ((signal.SIGTERM, STOP_SECONDS), (signal.SIGKILL, STOP_SECONDS)):
        if process.poll() is not None:
            break
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, how)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


@contextlib.contextmanager
def child(
    command: Sequence[str], log: Path, env: Mapping[str, str] | None = None, *, piped: bool = False
) -> Iterator[subprocess.Popen[bytes]]:
    """Runs `command` for the length of the block; what it prints goes to `log`, unless `piped` gives us its stdout."""
    pipe = subprocess.PIPE if piped else None
    with log.open("ab") as output:
        process = subprocess.Popen(
            list(command),
            stdin=pipe or subprocess.DEVNULL,
            stdout=pipe or output,
            stderr=output,
            env=environment(env or {}),
            start_new_session=True,
        )
    try:
        yield process
    finally:
        stop(process)


def module(name: str, *args: str) -> list[str]:
    """The command that runs a module of this repository with this interpreter."""
    return [sys.executable, "-m", name, *args]


def output(name: str, command: Sequence[str], seconds: float, folder: Path | None = None) -> Any:
    """Runs a program that ends within this time; the JSON that it prints."""
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL, check=False
    )
    if done.returncode != 0:
        raise ChildError(f"{name}: {' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def tail(log: Path, lines: int = 12) -> str:
    """The last lines a child printed."""
    text = log.read_text(errors="replace") if log.exists() else ""
    return "\n".join(text.splitlines()[-lines:])


def wait_for_port(process: subprocess.Popen[bytes], port: int, log: Path, seconds: float = 60.0) -> None:
    """Returns once somebody accepts connections on the port."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise ChildError(f"ended with code {process.returncode} before it listened:\n{tail(log)}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
            return
        time.sleep(0.05)
    raise ChildError(f"did not listen within {seconds:g} s:\n{tail(log)}")


def cpu_seconds(pid: int) -> float:
    """User and system time the process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory(pid: int) -> Memory:
    """Resident memory of the process."""
    values = {}
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        key, _, rest = line.partition(":")
        if key in {"VmRSS", "RssAnon"}:
            values[key] = int(rest.split()[0]) / 1024
    return Memory(values.get("VmRSS", 0.0), values.get("RssAnon", 0.0))


@contextlib.contextmanager
def paused(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Keeps the process from running (and from using a core) during the block."""
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)

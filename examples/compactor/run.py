"""Runs the example: a server, two compactors and growing sessions. Exits with 0 if each compactor compacted some of them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from threadkeep import Client, assistant, user
from threadkeep.errors import ConsumerNotFound

COMPACTORS = ("compactor-1", "compactor-2")
SESSIONS = [f"trip-{number:02}" for number in range(1, 33)]
SECONDS = 25.0
"""Time limit of the example."""


@contextmanager
def process(*command: str, environment: dict[str, str], log: Path | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a process for the block, then terminates it."""
    with ExitStack() as stack:
        errors = stack.enter_context(log.open("wb")) if log is not None else None
        started = subprocess.Popen([sys.executable, *command], env=environment, stderr=errors)  # noqa: S603 - our own
        try:
            yield started
        finally:
            started.terminate()
            try:
                started.wait(3)
            except subprocess.TimeoutExpired:
                started.kill()
                started.wait()


class Clock:
    """The remaining time."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def until(self, condition: Callable[[], bool], what: str, *processes: subprocess.Popen[bytes]) -> None:
        """Waits for the condition. Exits if the time is over or one of the processes ended."""
        while not condition():
            if time.monotonic() > self._end:
                raise SystemExit(f"gave up waiting: {what}")
            if any(each.poll() is not None for each in processes):
                raise SystemExit(f"a process ended early: {what}")
            time.sleep(0.05)


def port_in(log: Path) -> str:
    """Returns the port from the server's log; empty before it is logged."""
    found = re.search(r"serving gRPC on 127\.0\.0\.1:(\d+)", log.read_text(encoding="utf-8"))
    return found[1] if found else ""


def shared(memory: Client) -> bool:
    """Returns whether each compactor has half of the partitions."""
    try:
        found = memory.consumer("compactor").get()
    except ConsumerNotFound:
        return False
    half = found.consumer.partitions // len(COMPACTORS)
    return [len(each.partitions) for each in found.members] == [half] * len(COMPACTORS)


def write(memory: Client) -> None:
    """Writes conversations, turn by turn, past the compactors' threshold."""
    for turn in range(6):
        for session in SESSIONS:
            question = user(f"Question {turn} of {session}: what is there to see on day {turn}, and how do we get there?")
            answer = assistant(f"On day {turn} take the tram to the harbor, walk along the river and see the old town.")
            memory.append(session, question, answer, create_if_missing=turn == 0)


def compactors_of(memory: Client) -> list[set[str]]:
    """Returns the compactors of each session, as the server recorded them."""
    return [{each.actor for each in memory.compactions(session)} for session in SESSIONS]


def main() -> int:
    clock = Clock(SECONDS)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="threadkeep-example-")))
        log = folder / "server.log"
        addresses = ("--grpc-address", "127.0.0.1:0", "--http-address", "")
        serve = ("-m", "threadkeep.cli", "serve", "--data-dir", str(folder), *addresses)
        own = {name: value for name, value in os.environ.items() if not name.startswith("THREADKEEP_")}
        server = stack.enter_context(process(*serve, environment=own, log=log))
        clock.until(lambda: bool(port_in(log)), "the server to start", server)

        address = f"127.0.0.1:{port_in(log)}"
        own["THREADKEEP_ADDRESS"] = address
        program = str(Path(__file__).with_name("compactor.py"))
        compactors = [stack.enter_context(process(program, name, environment=own)) for name in COMPACTORS]
        memory = stack.enter_context(Client(address, token="", app="travel", user_id="alice"))
        clock.until(lambda: shared(memory), "the compactors to share the sessions", server, *compactors)

        write(memory)
        clock.until(lambda: all(compactors_of(memory)), "the sessions to be compacted", server, *compactors)
        counts = Counter(name for names in compactors_of(memory) for name in names)
        print("\n" + "\n".join(f"{name} compacted {counts[name]} of {len(SESSIONS)} sessions" for name in COMPACTORS))
        return 0 if all(counts[name] for name in COMPACTORS) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)

"""Runs a fleet: a server, a watcher, and agents of several frameworks and languages that take turns in one session.

    python -m examples.fleet.run        four frameworks in two languages
    python -m examples.fleet.run all    a framework in each language; the server is killed twice, and a policy compacts

Exits with 0 if each agent read what all agents before it had said, the watcher printed every message, and the log is whole.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from threadkeep import Client, compaction

from .reading import APP, USER, check_answer, check_log, check_reading, log_of, reading_of
from .turns import ALL, HERE, SMALL, Fleet, Turn

FLEETS = {"": SMALL, "all": ALL}
WITHIN = 120.0
"""Seconds for each wait."""


class Server(Protocol):
    """A server that is killed and started again on its port."""

    address: str

    def start(self) -> object:
        """Returns when it serves."""

    def kill(self) -> None:
        """Ends it as kill -9 does."""


class OwnServer:
    """A server on SQLite in a folder."""

    def __init__(self, folder: Path) -> None:
        self.address = "127.0.0.1:0"
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it; on a free port at first, which it keeps."""
        program = str(Path(sys.executable).with_name("threadkeep"))
        options = [
            "--grpc-address",
            self.address,
            "--http-address",
            "",
            "--data-dir",
            str(self._folder),
            "--log-format",
            "text",
        ]
        log = self._folder / "server"
        with log.open("wb") as output:
            self._process = subprocess.Popen([program, "serve", *options], stdout=output, stderr=output)  # noqa: S603 - our own
        self.address = found_in(log, r"serving gRPC on (127\.0\.0\.1:\d+)", "the server")[1]

    def kill(self) -> None:
        """Sends SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


class GivenServer:
    """The server of THREADKEEP_ADDRESS, which continues after the run."""

    def __init__(self, address: str) -> None:
        self.address = address

    def start(self) -> None:
        """It runs already."""

    def kill(self) -> None:
        """It is another's."""


@contextmanager
def watcher(address: str, session: str, output: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Follows the session for the block, in another process."""
    command = [sys.executable, str(HERE / "watcher.py"), address, session]
    with output.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)  # noqa: S603 - our own
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def found_in(output: Path, pattern: str, what: str, times: int = 1) -> re.Match[str]:
    """Waits until the output of a process has the pattern so many times. Returns the last match."""
    end = time.monotonic() + WITHIN
    while True:
        matches = list(re.finditer(pattern, output.read_text(encoding="utf-8")))
        if len(matches) >= times:
            return matches[-1]
        if time.monotonic() > end:
            raise SystemExit(f"gave up waiting for {what}:\n{output.read_text(encoding='utf-8')[-2000:]}")
        time.sleep(0.05)


def take(turn: Turn, server: Server, session: str, kill: float | None) -> str:
    """Runs the program of an agent for one turn, while the server may be killed. Returns what it printed."""
    print(f"--- {turn.agent.framework} ({turn.agent.language}): {turn.question}", flush=True)
    if kill is not None and kill < 0:
        server.kill()
    command = [*turn.agent.command(), server.address, session, turn.question, turn.answer]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8") as process:  # noqa: S603 - our own
        try:
            if kill is not None:
                if kill >= 0:
                    time.sleep(kill)
                    server.kill()
                server.start()
                print("     (the server was killed, and started again)", flush=True)
            printed, errors = process.communicate(timeout=WITHIN)
        finally:
            process.kill()
    if process.returncode:
        raise SystemExit(f"the agent of {turn.agent.framework} failed:\n{printed}{errors[-4000:]}")
    return printed


def prepare(fleet: Fleet, address: str, session: str) -> None:
    """Creates the session, with its policy."""
    with Client(address, app=APP, user_id=USER) as client:
        client.create_session(session)
        if fleet.compacts_after:
            trigger = compaction.events(4 * fleet.compacts_after)
            client.session(session).policy().set(compaction.policy(trigger, compaction.turn_window(fleet.keeps)))


def run(fleet: Fleet, server: Server, folder: Path, session: str = "trip", kills: Mapping[int, float] | None = None) -> None:
    """Lets the agents take turns in a session, while the watcher follows. `kills`: other ones than the fleet's."""
    prepare(fleet, server.address, session)
    output = folder / f"watcher-{session}"
    with watcher(server.address, session, output) as process:
        shown = 0
        for number, turn in enumerate(fleet.turns, 1):
            log = log_of(server.address, session)
            printed = take(turn, server, session, (fleet.kills if kills is None else kills).get(number))
            found_in(output, r"Answers read: \d+", "the watcher", times=number)
            # An append lets the server check its policies. If it is killed right after that, the next append does.
            if number == (len(fleet.turns) if kills else fleet.compacts_after):
                found_in(output, "archives", "the compaction")
            text = output.read_text(encoding="utf-8")
            if fleet.prints:
                reading = reading_of(printed)
                due = fleet.read_in(number, late=bool(kills))
                turns = check_reading(reading, log, due)
                counted = ", ".join(f"{count} {own}" for own, count in sorted(Counter(reading.own).items()))
                print(f"     reads {turns} turn{'' if turns == 1 else 's'}: {counted}" if turns else "     reads nothing")
                check_answer(turn, log_of(server.address, session), range(due.start, turns + 1))
            print(text[shown:], end="", flush=True)
            shown = len(text)
        if process.poll() is not None:
            raise SystemExit("the watcher ended early")
    check(fleet, server.address, session)


def check(fleet: Fleet, address: str, session: str) -> None:
    """Compares the session with the turns."""
    log = log_of(address, session)
    if fleet.prints:
        check_log(fleet, log)
    else:
        texts = [event.text for event in log if event.text]
        for number, turn in enumerate(fleet.turns):
            if turn.question not in texts or texts.count(f"«{turn.answer}» Answers read: {number}.") != 1:
                raise SystemExit(f"{turn.agent.framework} did not read everything in turn {number + 1}: {texts}")
    archived = sum(event.pb.archived for event in log)
    languages = {agent.language for agent in fleet.agents}
    counts = f"{len(fleet.turns)} turns, {len(fleet.agents)} frameworks, {len(languages)} languages, 1 session"
    print(f"{counts}: each agent read all that was said before it")
    if archived:
        print(f"the policy archived {archived} events; the log has all {len(log)}")


def main() -> None:
    """Runs the example; THREADKEEP_ADDRESS names a server to use instead of a new one, which is not killed."""
    fleet = FLEETS[sys.argv[1] if len(sys.argv) > 1 else ""]
    with tempfile.TemporaryDirectory() as folder:
        given = os.environ.get("THREADKEEP_ADDRESS")
        server = GivenServer(given) if given else OwnServer(Path(folder))
        try:
            server.start()
            run(fleet, server, Path(folder), kills={} if given else None)
        finally:
            server.kill()


if __name__ == "__main__":
    main()

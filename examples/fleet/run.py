"""Runs the fleet: a server, a watcher, and four agents of four frameworks in two languages that take turns in one session.

Exits with 0 if each agent read what all agents before it had answered, and the watcher printed every message.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from threadkeep import Client, event_filter

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PYTHONS = ROOT / "build/integrations"
TYPESCRIPT = ROOT / "client/typescript/integrations"
APP, USER, SESSION = "fleet", "ada", "trip"
WITHIN = 60.0
"""Seconds for each wait."""

Turn = tuple[str, str, str]
TURNS: Sequence[Turn] = (
    ("adk", "Plan a weekend in Lisbon.", "Saturday in Alfama, Sunday in Belém."),
    ("openai_agents", "Where do I sleep?", "Hotel Avenida, two nights."),
    ("langgraph", "What does it cost?", "480 euros with the flight."),
    ("ai_sdk", "Write it to my friend.", "Join me in Lisbon: Alfama, Belém, Hotel Avenida."),
    ("adk", "When do we leave?", "The train leaves at nine."),
)
"""The framework of each turn, the question, and the answer that the script of its model gives."""


def command(framework: str) -> list[str]:
    """The program of an agent."""
    if framework == "ai_sdk":
        (node,) = TYPESCRIPT.glob("node_modules/node-*/bin/node")  # the AI SDK needs Node 22
        return [str(node), str(TYPESCRIPT / "build/examples/fleet.js")]
    name = HERE / f"fleet_{framework}.py"
    return [str(PYTHONS / f"{framework}-newest/bin/python"), str(name)]


@contextmanager
def running(*arguments: str, output: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a process for the block, then ends it."""
    with output.open("wb") as file:
        process = subprocess.Popen(arguments, stdout=file, stderr=subprocess.STDOUT, env=environment)  # noqa: S603 - our own
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
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


def take(turn: Turn, environment: dict[str, str]) -> None:
    """Runs the program of an agent for one turn."""
    framework, question, answer = turn
    print(f"--- {framework}: {question}", flush=True)
    done = subprocess.run(  # noqa: S603 - our own
        [*command(framework), question, answer], env=environment, capture_output=True, text=True, timeout=WITHIN, check=False
    )
    if done.returncode:
        raise SystemExit(f"the agent of {framework} failed:\n{done.stdout}{done.stderr}")


def check(address: str, watched: Path) -> None:
    """Compares the session with the turns, and the watcher's output with the session."""
    with Client(address, app=APP, user_id=USER) as client:
        texts = [event.text for event in client.events(SESSION, event_filter(branch_match="exact")) if event.text]
    for number, (framework, question, answer) in enumerate(TURNS):
        if question not in texts:
            raise SystemExit(f"the question of turn {number + 1} is not in the session")
        wanted = f"«{answer}» Answers read: {number}."
        if texts.count(wanted) != 1:
            raise SystemExit(f"{framework} did not read everything in turn {number + 1}: {texts}")
    found_in(watched, r"Answers read: \d+", "the watcher", times=len(TURNS))


def main() -> None:
    """Runs the example; THREADKEEP_ADDRESS names a server to use instead of a new one."""
    with tempfile.TemporaryDirectory() as folder:
        logs = Path(folder)
        environment = dict(os.environ)
        if given := environment.get("THREADKEEP_ADDRESS"):
            fleet(given, logs, environment)
            return
        program = str(Path(sys.executable).with_name("threadkeep"))
        options = ["--grpc-address", "127.0.0.1:0", "--http-address", "", "--data-dir", folder, "--log-format", "text"]
        with running(program, "serve", *options, output=logs / "server", environment=environment):
            port = found_in(logs / "server", r"serving gRPC on 127\.0\.0\.1:(\d+)", "the server")[1]
            fleet(f"127.0.0.1:{port}", logs, environment)


def fleet(address: str, logs: Path, environment: dict[str, str]) -> None:
    """Lets the agents take turns, while the watcher follows."""
    environment["THREADKEEP_ADDRESS"] = address
    with running(sys.executable, str(HERE / "watcher.py"), output=logs / "watcher", environment=environment) as watcher:
        shown = 0
        for number, turn in enumerate(TURNS, 1):
            take(turn, environment)
            found_in(logs / "watcher", r"Answers read: \d+", "the watcher", times=number)
            text = (logs / "watcher").read_text(encoding="utf-8")
            print(text[shown:], end="", flush=True)
            shown = len(text)
        if watcher.poll() is not None:
            raise SystemExit("the watcher ended early")
        check(address, logs / "watcher")
    print(f"{len(TURNS)} turns, 4 frameworks, 2 languages, 1 session: each agent read all that was said before it")


if __name__ == "__main__":
    main()

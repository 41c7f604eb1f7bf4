"""Each language's driver: how it is built and started, and a running one."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import json
import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.runs.toolchains import BRIEF_BUILDS, BRIEF_JVM, LANGUAGES

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "client"
CHOSEN = tuple(name for name in os.environ.get("THREADKEEP_LANGUAGES", ",".join(LANGUAGES)).split(",") if name)
"""The languages of this run: all, or those of THREADKEEP_LANGUAGES (go,java)."""
if not set(CHOSEN) <= set(LANGUAGES):
    raise ValueError(f"THREADKEEP_LANGUAGES is {','.join(CHOSEN)}; it may name {', '.join(LANGUAGES)}")
BUILD_WITHIN = 900.0
ENDS_WITHIN = 60.0
LONGEST_LINE = 512 * 1024 * 1024
"""Bytes of an answer: a page of the largest events, in base64."""

_TAIL = 60
"""Lines of a driver's stderr that a failure shows."""


@dataclass(frozen=True)
class Recipe:
    """How a program of a client is made: commands run in `folder` one after another, then the command that starts it."""

    start: Sequence[str]
    build: Sequence[Sequence[str]] = ()
    folder: Path = ROOT


_TYPESCRIPT, _GO = CLIENT / "typescript", ROOT / "build" / "conformance" / "go-driver"
_TSC = "node_modules/typescript/bin/tsc"
RECIPES: Mapping[str, Recipe] = {
    "python": Recipe((sys.executable, "-m", "tests.conformance.python_driver")),
    "typescript": Recipe(
        ("node", "build/conformance/driver.js"),
        (("npm", "ci", "--no-audit", "--no-fund"), ("node", _TSC, "--project", "tsconfig.all.json")),
        _TYPESCRIPT,
    ),
    "go": Recipe((str(_GO),), (("go", "build", "-o", str(_GO), "./internal/conformance"),), CLIENT / "go"),
    "java": Recipe(
        ("java", *BRIEF_JVM, "-cp", "@target/classpath", "dev.threadkeep.conformance.Driver"),
        (("mvn", "-q", "-B", "test-compile"),),
        CLIENT / "java",
    ),
    "rust": Recipe(
        ("target/debug/examples/conformance",),
        # With its tests and the adapters: built separately, they need the dependencies with other features, compiled again.
        (("cargo", "build", "-q", "--workspace", "--tests", "--examples"),),
        CLIENT / "rust",
    ),
}


def is_needed(command: Sequence[str], folder: Path) -> bool:
    """Whether a command of a build does something: installing what is installed takes longer than all else together."""
    if command[:2] != ("npm", "ci"):
        return True
    installed, lock = folder / "node_modules" / ".package-lock.json", folder / "package-lock.json"
    return not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime


class BuildFailed(Exception):
    """A driver could not be built; the text is all that its build said."""


class DriverDied(Exception):
    """A driver ended, or did not answer as the README has it; the text holds the end of its stderr."""


def build(language: str, recipes: Mapping[str, Recipe] = RECIPES) -> float:
    """Builds a language's program, by default its driver, once a test run; how long it took. Raises BuildFailed."""
    recipe = recipes[language]
    began = time.monotonic()
    build_once(language, f"{language}.{hashlib.sha256(str(recipe).encode()).hexdigest()[:8]}", lambda: _run(language, recipe))
    return time.monotonic() - began


def build_once(language: str, name: str, make: Callable[[], object]) -> None:
    """Calls `make`, unless another process of this test run has done so under this name: also a build that finds nothing to do
    takes seconds."""
    run, built = os.environ.get("PYTEST_XDIST_TESTRUNUID", ""), ROOT / "build" / f"{name}.built"
    with building(language):
        if not run or not built.exists() or built.read_text() != run:
            make()
            built.write_text(run)


@contextlib.contextmanager
def building(language: str) -> Iterator[None]:
    """Holds the language's package in the tree: builds of several test processes there would meet."""
    file = ROOT / "build" / f"{language}.lock"
    file.parent.mkdir(exist_ok=True)
    with file.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _run(language: str, recipe: Recipe) -> None:
    for command in (command for command in recipe.build if is_needed(command, recipe.folder)):
        try:
            done = subprocess.run(
                command,
                cwd=recipe.folder,
                env=os.environ | BRIEF_BUILDS,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=BUILD_WITHIN,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise BuildFailed(f"{language}: {' '.join(command)} in {recipe.folder}: {error}") from None
        if done.returncode != 0:
            said = f"{done.stdout}\n{done.stderr}"
            raise BuildFailed(f"{language}: {' '.join(command)} in {recipe.folder} ended with {done.returncode}:\n{said}")


class Call:
    """What a driver answers to one request: any number of items, then an answer."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.items: asyncio.Queue[str] = asyncio.Queue()
        self.answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()

    async def item(self, within: float) -> str | None:
        """The next item; None after the last one, once the answer is there. Raises TimeoutError."""
        if self.items.empty() and not self.answer.done():
            taken = asyncio.ensure_future(self.items.get())
            try:
                await asyncio.wait((taken, self.answer), timeout=within, return_when=asyncio.FIRST_COMPLETED)
                if taken.done():
                    return taken.result()
            finally:
                taken.cancel()
            if not self.answer.done():
                raise TimeoutError
        return None if self.items.empty() else self.items.get_nowait()


class Driver:
    """A driver's process, started at the first request and again after it died. `recipe`, `env`: how it is started, if not as
    that of the language."""

    def __init__(self, language: str, recipe: Recipe | None = None, env: Mapping[str, str] | None = None) -> None:
        self.language = language
        self._recipe = recipe or RECIPES[language]
        self._env = env
        self._process: asyncio.subprocess.Process | None = None
        self._calls: dict[int, Call] = {}
        self._last = 0
        self._stderr: deque[str] = deque(maxlen=_TAIL)
        self._readers: list[asyncio.Task[None]] = []

    async def send(self, op: str, **parameters: Any) -> Call:
        """Sends a request; the call's answer comes when it comes, and is a DriverDied if the driver does first."""
        process = await self._running()
        assert process.stdin is not None
        self._last += 1
        call = self._calls[self._last] = Call(self._last)
        given = {name: value for name, value in parameters.items() if value is not None}
        line = json.dumps({"id": call.number, "op": op, **given}, ensure_ascii=False)
        with contextlib.suppress(ConnectionError):  # then its output ends too, and that fails the call
            process.stdin.write(line.encode() + b"\n")
            await process.stdin.drain()
        return call

    async def ask(self, op: str, *, within: float, **parameters: Any) -> dict[str, Any]:
        """The whole answer, `ok` or `error`, to one request. Raises TimeoutError, and DriverDied."""
        call = await self.send(op, **parameters)
        async with asyncio.timeout(within):
            return await asyncio.shield(call.answer)

    async def close(self) -> int | None:
        """Ends the driver by the end of its input; its exit status, None if it was not running. Killed if it does not end."""
        if self._process is None:
            return None
        process, self._process = self._process, None
        assert process.stdin is not None
        with contextlib.suppress(ConnectionError):
            process.stdin.close()
        try:
            async with asyncio.timeout(ENDS_WITHIN):
                status = await process.wait()
        except TimeoutError:
            process.kill()
            status = await process.wait()
        await asyncio.gather(*self._readers)
        return status

    async def _running(self) -> asyncio.subprocess.Process:
        if self._process is None:
            recipe = self._recipe
            pipe = asyncio.subprocess.PIPE
            try:
                self._process = await asyncio.create_subprocess_exec(
                    *recipe.start,
                    cwd=recipe.folder,
                    env=self._env,
                    stdin=pipe,
                    stdout=pipe,
                    stderr=pipe,
                    limit=LONGEST_LINE,
                )
            except OSError as error:
                raise DriverDied(f"the driver of {self.language} does not start: {error}") from None
            self._stderr.clear()
            self._readers = [
                asyncio.create_task(self._listen(self._process)),
                asyncio.create_task(self._keep_stderr(self._process)),
            ]
        return self._process

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        wrong = ""
        async for line in process.stdout:
            try:
                self._take(json.loads(line))
            except (ValueError, KeyError, TypeError) as error:
                wrong = f"; it answered {line[:300]!r}: {error!r}"
                process.kill()
                break
        status = await process.wait()
        if self._process is process:
            self._process = None
        await asyncio.sleep(0.05)  # for the last lines of its stderr
        self._fail(f"the driver of {self.language} ended with {status}{wrong}; the end of its stderr:\n{''.join(self._stderr)}")

    def _take(self, answer: Mapping[str, Any]) -> None:
        call = self._calls[answer["id"]]
        if "item" in answer:
            call.items.put_nowait(answer["item"])
            return
        if ("ok" in answer) == ("error" in answer):
            raise ValueError("an answer has either ok or error")
        del self._calls[call.number]
        if not call.answer.done():
            call.answer.set_result(dict(answer))

    def _fail(self, why: str) -> None:
        for call in self._calls.values():
            if not call.answer.done():
                call.answer.set_exception(DriverDied(why))
                call.answer.exception()  # not everyone waits for it
        self._calls.clear()

    async def _keep_stderr(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        async for line in process.stderr:
            self._stderr.append(line.decode(errors="replace"))

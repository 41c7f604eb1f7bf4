"""Runs a case: its steps one after another, what each gives held against what the case expects."""

from __future__ import annotations

import asyncio
import base64
import re
import time
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from .cases import Case, Step
from .drivers import Driver, DriverDied
from .matching import differences, shown
from .messages import Fields
from .steps import RECEIVE_WITHIN, Answer, Performer, Surroundings
from .values import resolve

_WHOLE = 3000
"""Characters of a response that a failure shows."""
_HEARTBEAT = "CHECKPOINT_KIND_HEARTBEAT"
"""The checkpoint that comes whenever a watch was idle for some time; cases do not expect it."""
AGAIN_AFTER = 0.05
"""Seconds between the tries of a step that may be done again."""
_numbers = count(1)
_INDEX = re.compile(r"\w+|\[\d+\]")  # of ".", which is the whole answer, none


class StepFailed(AssertionError):
    """A step gave something else than its case expects; the text says all of it."""


async def run_case(case: Case, driver: Driver, around: Surroundings) -> None:
    """Runs a case with names of its own. Raises StepFailed."""
    number = next(_numbers)
    names = {"app": f"app-{number}-{driver.language}", "user": f"user-{number}"}
    performer = Performer(driver, around, names, f"case-{number}")
    around.rules([])
    runner = _Runner(case, performer)
    try:
        await runner.steps(case.steps, names)
    except BaseException:
        await asyncio.gather(performer.end(), return_exceptions=True)
        raise
    finally:
        around.rules([])
    try:
        await performer.end()
    except (TimeoutError, DriverDied) as error:
        raise StepFailed(f"{case.file}, {case.name!r}, after its steps: watches and clients do not end: {error!r}") from None


class _Runner:
    def __init__(self, case: Case, performer: Performer) -> None:
        self._case = case
        self._performer = performer

    async def steps(self, steps: Sequence[Step], names: dict[str, Any]) -> None:
        for step in steps:
            times = int(step.said.get("repeat", 1))
            for i in range(times):
                names["i"] = i
                await self._one(step, names, f", time {i + 1} of {times}" if times > 1 else "")

    async def _one(self, step: Step, names: dict[str, Any], which: str) -> None:
        place = f"{self._case.file}, {self._case.name!r}, step {step.number} ({step.kind} {shown(step.subject, 80)}){which}"
        try:
            if step.kind == "concurrently":
                await self._concurrently(step, names)
                return
            self._save(step, await self._held(step, names), names)
        except StepFailed as error:
            raise StepFailed(str(error) if str(error).startswith(self._case.file) else f"{place}: {error}") from None
        except TimeoutError:
            raise StepFailed(f"{place}: no answer in time") from None
        except (DriverDied, ValueError) as error:
            raise StepFailed(f"{place}: {error}") from None

    async def _held(self, step: Step, names: Mapping[str, Any]) -> Answer:
        """What comes of a step, as expected; with `within_ms` it is done again until it is, or that time is over."""
        deadline = time.monotonic() + int(step.said.get("within_ms", 0)) / 1000
        while True:
            came = await (self._receive(step, names) if step.kind == "receive" else self._performer.perform(step, names))
            try:
                self._hold(step, came, names)
                return came
            except StepFailed:
                if time.monotonic() >= deadline:
                    raise
            await asyncio.sleep(AGAIN_AFTER)

    async def _concurrently(self, step: Step, names: dict[str, Any]) -> None:
        # Each list has its own ${i}; what they save is everybody's.
        views = [_Names(names) for _ in step.lists]
        done = await asyncio.gather(*map(self.steps, step.lists, views), return_exceptions=True)
        for error in done:
            if isinstance(error, BaseException):
                raise error

    def _hold(self, step: Step, came: Answer, names: Mapping[str, Any]) -> None:
        """Compares an answer with `expect`, `items` or `error`."""
        if "error" in step.said:
            wanted = resolve(step.said["error"], names)
            if "error" not in came:
                raise StepFailed(f"expected the error {shown(wanted)}, it succeeded\n{_whole(came)}")
            _compare(_without_order(wanted), came["error"], came)
            return
        if "error" in came:
            raise StepFailed(f"expected success, got an error\n{_whole(came)}")
        if "expect" in step.said:
            _compare(resolve(step.said["expect"], names), came["ok"], came)
        if "items" in step.said:
            _compare(resolve(step.said["items"], names), came["ok"]["items"], came)

    async def _receive(self, step: Step, names: Mapping[str, Any]) -> Answer:
        said = step.said
        deadline = time.monotonic() + int(said.get("timeout_ms", RECEIVE_WITHIN * 1000)) / 1000
        name, changes = resolve(step.subject, names), resolve(list(said.get("changes", ())), names)
        got: list[Any] = []
        for n, wanted in enumerate(changes):
            what = f"change {n + 1} of {len(changes)}, {shown(wanted)}"
            got.append(await self._change(name, deadline, what, got, heartbeats=said.get("heartbeats", False)))
            _compare(wanted, got[-1], {"ok": got}, f"changes[{n}]")
        if "quiet_ms" in said:
            await self._quiet(name, int(said["quiet_ms"]) / 1000)
        if "error" in said or said.get("ended"):
            ended = await self._next(name, deadline, "its end", got)
            if "item" in ended:
                raise StepFailed(f"expected the end, got another change: {shown(ended['item'], _WHOLE)}")
            return ended
        return {"ok": {"changes": got}}

    async def _change(self, name: Any, deadline: float, what: str, got: Sequence[Any], *, heartbeats: bool) -> Any:
        while True:
            came = await self._next(name, deadline, what, got)
            if "item" not in came:
                raise StepFailed(f"expected {what}, but the watch ended\n{_whole(came)}")
            if heartbeats or came["item"].get("checkpoint", {}).get("kind") != _HEARTBEAT:
                return came["item"]

    async def _next(self, name: Any, deadline: float, what: str, got: Sequence[Any]) -> Answer:
        try:
            return await self._performer.receive(name, max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            raise StepFailed(f"expected {what}, nothing more came in time; it got {shown(got, _WHOLE)}") from None

    async def _quiet(self, name: Any, seconds: float) -> None:
        try:
            came = await self._performer.receive(name, seconds)
        except TimeoutError:
            return
        raise StepFailed(f"expected nothing for {seconds} s, got {shown(came, _WHOLE)}")

    def _save(self, step: Step, came: Answer, names: dict[str, Any]) -> None:
        for name, path in step.said.get("save", {}).items():
            names[name] = _json(_at(came.get("ok", came), str(path)))


class _Names(dict[str, Any]):
    """Names that are shared with another mapping, but for `i`."""

    def __init__(self, shared: dict[str, Any]) -> None:
        super().__init__(shared)
        self._shared = shared

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        if name != "i":
            self._shared[name] = value


def _compare(wanted: Any, value: Any, came: Answer, path: str = "") -> None:
    found = differences(wanted, value, path)
    if found:
        listed = "\n".join(f"  {each}" for each in found[:20])
        raise StepFailed(f"\n{listed}\n{_whole(came)}")


def _without_order(error: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**error, "fields": {"$unordered": error["fields"]}} if isinstance(error.get("fields"), list) else error


def _whole(came: Answer) -> str:
    return f"the whole answer: {shown(came, _WHOLE)}"


def _at(value: Any, path: str) -> Any:
    at = value
    for piece in _INDEX.findall(path):
        try:
            if piece.startswith("["):
                at = at[int(piece[1:-1])]
            else:
                at = at[piece] if piece in at or not isinstance(at, Fields) else at.default(piece)
        except (LookupError, TypeError):
            raise StepFailed(f"there is nothing at {path} to save\n{_whole({'ok': value})}") from None
    return at


def _json(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {key: _json(each) for key, each in value.items()}
    return [_json(each) for each in value] if isinstance(value, list) else value

"""What a case's failure says, and what becomes of a driver that dies, is silent or talks nonsense."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import pytest_asyncio

from tests.conformance import cases, drivers, runner, steps
from tests.conformance.drivers import BuildFailed, Driver, DriverDied, Recipe
from tests.conformance.messages import to_wire
from tests.conformance.runner import StepFailed, run_case
from threadkeep.v1.session_pb2 import Session
from threadkeep.v1.session_service_pb2 import GetSessionResponse

DRIVER = """
import json, os, sys
for line in sys.stdin:
    request = json.loads(line)
    answer = ANSWERS.get(request.get("rpc", request["op"]), {"ok": {}})
    if answer == "die":
        print("it went wrong", file=sys.stderr, flush=True)
        os._exit(3)
    if answer == "nonsense":
        print("hello", flush=True)
    elif answer != "silence":
        print(json.dumps({"id": request["id"], **answer}), flush=True)
"""
SILENT = "SessionService/DeleteSession"
SESSION = GetSessionResponse(session=Session(uid="u1", last_seq=3))
ANSWERS = {
    "SessionService/GetSession": {"ok": {"response": to_wire(SESSION)}},
    "SessionService/ListSessions": {"error": {"code": "INTERNAL", "reason": "", "message": "oh", "metadata": {}, "fields": []}},
    "SessionService/CreateSession": "die",
    "SessionService/UpdateSession": "nonsense",
    SILENT: "silence",
}


class Nowhere:
    """There is no server."""

    address = gateway_address = "127.0.0.1:1"

    def rules(self, rules: list[Mapping[str, Any]]) -> None:
        """None is kept."""

    def cut(self) -> None:
        """Nothing is open."""

    async def restart(self, how: str, name: str = "") -> None:
        """Nothing runs."""

    async def other(self, name: str) -> str:
        return self.address


class Patient(Driver):
    """Waits long for what comes: the interpreter may start slowly."""

    async def ask(self, op: str, *, within: float, **parameters: Any) -> dict[str, Any]:
        return await super().ask(op, within=within if parameters.get("rpc") == SILENT else 60, **parameters)


@pytest_asyncio.fixture
async def driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[Driver]:
    program = tmp_path / "driver.py"
    program.write_text(f"ANSWERS = {ANSWERS!r}\n{DRIVER}")
    monkeypatch.setitem(drivers.RECIPES, "go", Recipe((sys.executable, str(program))))
    monkeypatch.setattr(steps, "STEP_WITHIN", 0.3)
    running = Patient("go")
    yield running
    assert await running.close() in (0, None)


async def _run(folder: Path, driver: Driver, *said: str) -> str:
    """How a case of these steps fails, "" if it does not."""
    text = "\n".join(f"      - {step}" for step in said)
    (folder / "one.yaml").write_text(f"area: a\ncases:\n  - name: n\n    steps:\n{text}\n")
    (case,) = cases.load(folder)
    try:
        await run_case(case, driver, Nowhere())
    except StepFailed as error:
        return str(error)
    return ""


GET = "call: SessionService/GetSession"


async def test_a_case_passes_and_what_it_saved_can_be_used(driver: Driver, tmp_path: Path) -> None:
    first = f"{{{GET}, expect: {{session: {{last_seq: 3}}}}, save: {{uid: session.uid, none: session.context_bytes, all: .}}}}"
    again = "uid: '${uid}', context_bytes: '${none}', last_seq: {$gt: '${i}'}"
    then = f"{{{GET}, repeat: 2, expect: {{session: {{{again}}}}}}}"
    whole = f"{{{GET}, expect: '${{all}}'}}"
    assert await _run(tmp_path, driver, first, then, whole) == ""


async def test_a_failure_names_file_case_step_path_both_values_and_the_response(driver: Driver, tmp_path: Path) -> None:
    said = await _run(tmp_path, driver, "{pause_ms: 1}", f"{{{GET}, expect: {{session: {{last_seq: 4, uid: u2}}}}}}")
    assert said.startswith("one.yaml, 'n', step 2 (call 'SessionService/GetSession'): ")
    assert "at session.last_seq: expected 4, got 3" in said
    assert "at session.uid: expected 'u2', got 'u1'" in said
    assert "the whole answer: {'ok': {'session': {'uid': 'u1', 'last_seq': 3}}}" in said


async def test_a_step_may_be_repeated_until_the_expected_answer_comes(
    driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested: list[str] = []
    send = driver.send

    async def counted(op: str, **parameters: Any) -> drivers.Call:
        requested.append(op)
        return await send(op, **parameters)

    driver.send = counted  # type: ignore[method-assign]
    # Each look at the clock is 0.4 s after the one before, however long an answer takes.
    looks = count()
    monkeypatch.setattr(runner, "time", SimpleNamespace(monotonic=lambda: next(looks) * 0.4))
    late = "{call: SessionService/GetSession, within_ms: 1000, expect: {session: {last_seq: 4}}}"
    assert "at session.last_seq: expected 4, got 3" in await _run(tmp_path, driver, late)
    assert requested.count("call") == 3
    requested.clear()
    assert await _run(tmp_path, driver, late.replace("last_seq: 4", "last_seq: 3")) == ""
    assert requested.count("call") == 1


async def test_unexpected_errors_and_missing_expected_ones_fail(driver: Driver, tmp_path: Path) -> None:
    wrong = "call: SessionService/ListSessions"
    assert "expected success, got an error" in await _run(tmp_path, driver, f"{{{wrong}}}")
    assert "expected the error {'code': 'ABORTED'}, it succeeded" in await _run(
        tmp_path, driver, f"{{{GET}, error: {{code: ABORTED}}}}"
    )
    assert "at code: expected 'ABORTED', got 'INTERNAL'" in await _run(
        tmp_path, driver, f"{{{wrong}, error: {{code: ABORTED}}}}"
    )
    assert (
        await _run(tmp_path, driver, f"{{{wrong}, error: {{code: INTERNAL, reason: '', retry_after_ms: {{$absent: true}}}}}}")
        == ""
    )


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        ("{call: SessionService/CreateSession}", "ended with 3; the end of its stderr:\nit went wrong\n"),
        ("{call: SessionService/UpdateSession}", r"it answered b'hello\n'"),
        ("{call: SessionService/DeleteSession, timeout_ms: -4900}", "no answer in time"),
        ("{call: SessionService/GetSession, as: other}", "no client 'other' was connected"),
        ("{receive: w}", ""),
        ("{receive: w, quiet_ms: 1}", "no watch 'w' was started"),
        ("{call: SessionService/GetSession, request: {session: {$ref: '${x}'}}}", r"nothing is named ${x}"),
        (
            "{call: SessionService/GetSession, save: {x: 'session.window.turns'}}",
            "there is nothing at session.window.turns to save",
        ),
        ("{concurrently: [[{pause_ms: 1}], [{call: SessionService/CreateSession}]]}", "step 1.2.1 (call"),
    ],
)
async def test_a_failure_is_reported_and_the_next_case_runs(driver: Driver, tmp_path: Path, step: str, problem: str) -> None:
    said = await _run(tmp_path, driver, step)
    assert problem in said
    assert bool(said) is bool(problem)
    assert await _run(tmp_path, driver, f"{{{GET}}}") == ""


async def test_items_come_before_the_answer_also_where_both_are_there() -> None:
    call = drivers.Call(1)
    with pytest.raises(TimeoutError):
        await call.item(0.01)
    call.items.put_nowait("a")
    call.answer.set_result({"ok": {}})
    assert [await call.item(1), await call.item(1)] == ["a", None]
    other = drivers.Call(2)
    waiting = asyncio.create_task(other.item(5))
    await asyncio.sleep(0)
    other.items.put_nowait("b")
    assert await waiting == "b"


async def test_a_driver_that_cannot_be_started_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(drivers.RECIPES, "go", Recipe((str(tmp_path / "nothing"),)))
    with pytest.raises(DriverDied, match="the driver of go does not start"):
        await Driver("go").send("hello")


def test_a_failed_build_is_reported_with_its_output(monkeypatch: pytest.MonkeyPatch) -> None:
    failing = (sys.executable, "-c", "import sys; print('said', 'x' * 9999); sys.exit('and failed')")
    monkeypatch.setitem(drivers.RECIPES, "go", Recipe(("true",), (failing,)))
    with pytest.raises(BuildFailed, match=r"(?s)go: .* ended with 1:\nsaid x{9999}\n\nand failed"):
        drivers.build("go")
    monkeypatch.setitem(drivers.RECIPES, "go", Recipe(("true",), (("/no/such/compiler",),)))
    with pytest.raises(BuildFailed, match="No such file"):
        drivers.build("go")

"""Every strategy, on any window and on real runs of an agent, holds to the laws. A new strategy is one more line here."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given

from threadkeep_server.compaction.plan import Strategy, Window
from threadkeep_server.compaction.strategies.pipeline import Pipeline
from threadkeep_server.compaction.strategies.recursive_summary import RecursiveSummary
from threadkeep_server.compaction.strategies.sliding_window import SlidingWindow
from threadkeep_server.compaction.strategies.token_budget import TokenBudget
from threadkeep_server.compaction.strategies.trim_tool_results import TrimToolResults
from threadkeep_server.compaction.strategies.turn_window import TurnWindow
from threadkeep_server.domain.model import Role, WindowEvent
from threadkeep_server.domain.text import estimate_tokens, prompt_line

from .laws import check_laws, windows
from .notation import window

SMALL: list[Strategy] = [
    SlidingWindow(1),
    SlidingWindow(4),
    TurnWindow(1),
    TurnWindow(3),
    TokenBudget(1),
    TokenBudget(400),
    RecursiveSummary(1, 0),
    RecursiveSummary(4, 2),
    TrimToolResults(0, 1),
    TrimToolResults(2, 100),
    Pipeline((TrimToolResults(1, 1), TokenBudget(400))),
    Pipeline((TokenBudget(400), TrimToolResults(1, 1))),
    Pipeline((TurnWindow(3), TrimToolResults(1, 1), SlidingWindow(4))),
    Pipeline((TrimToolResults(2, 1), TurnWindow(3), RecursiveSummary(4, 1))),
]
REAL: list[Strategy] = [
    SlidingWindow(),
    TurnWindow(3),
    TokenBudget(2000),
    RecursiveSummary(),
    TrimToolResults(),
    Pipeline((TrimToolResults(), TokenBudget(3000))),
    Pipeline((TrimToolResults(2), RecursiveSummary())),
]


@pytest.mark.parametrize("strategy", SMALL, ids=repr)
@given(before=windows)
@example(before=window("A0(c) U1 T0(c) A1 U2 A2"))
@example(before=window("U1 A1(c,d) T1(c) U2 T2(d) U3 A3(c) T3(c)"))
@example(before=window("U1 A1(c) U1@a A1(c)@a T1(c) T1(c)@a U2 A2"))
@example(before=window("A0(c) U1@a T1(c)@a U2@a A2@a U3@a", "a"))
def test_any_window(strategy: Strategy, before: Window) -> None:
    check_laws(strategy, before)


@pytest.mark.parametrize("strategy", REAL, ids=repr)
def test_real_runs(strategy: Strategy, real_runs: list[Window]) -> None:
    for before in real_runs:
        check_laws(strategy, before)
    assert any(not strategy.plan(before, len).empty for before in real_runs)


@pytest.fixture(scope="module")
def real_runs() -> list[Window]:
    """The runs of a tool-calling agent, from a folder next to the repository."""
    folder = Path(os.environ.get("THREADKEEP_SHARED_DATA", Path(__file__).parents[4] / "shared" / "data"))
    source = folder / "tau-bench-airline-gpt-4o.json"
    if not source.is_file():
        pytest.skip(f"{source} is not there; set THREADKEEP_SHARED_DATA to the folder with the real conversations")
    runs = [
        Window(tuple(_event(seq, message) for seq, message in enumerate(record["traj"], 1)))
        for record in json.loads(source.read_text())
    ]
    assert len(runs) == 200
    assert sum(len(event.calls) for run in runs for event in run.events) == 1164
    return runs


def _event(seq: int, message: dict[str, Any]) -> WindowEvent:
    role = Role[message["role"].upper()]
    text = message["content"] or ""
    calls = message.get("tool_calls") or []
    made = [f"{call['function']['name']}({call['function']['arguments']})" for call in calls]
    line = prompt_line(role, "", results=[text]) if role is Role.TOOL else prompt_line(role, text, made)
    return WindowEvent(
        seq=seq,
        time=seq,
        role=role,
        text=text,
        event_id=f"m{seq}",
        position=seq,
        tokens=estimate_tokens(len(line)),
        calls=tuple(call["id"] for call in calls),
        results=(message["tool_call_id"],) if role is Role.TOOL else (),
        result_names=(message.get("name", ""),) if role is Role.TOOL else (),
        prompt_text=line,
    )

"""Limits of the number of tool calls per turn."""

from __future__ import annotations

import pytest

from threadkeep.chat import (
    Message,
    Prompt,
    ToolCallLimitExceeded,
    ToolCallLimits,
    ToolExecution,
    ToolOptions,
    ToolResult,
    assistant,
    tool,
    user,
)

from ..async_and_sync import Kit
from ..tool_loop import RecordingTools, answer_calling, calls_of


def rounds(*names: str) -> tuple[Message, ...]:
    """Returns earlier rounds of one call each."""
    messages: list[Message] = []
    for name in names:
        messages += [assistant(tool_calls=calls_of(name)), tool(ToolResult("c1", name))]
    return tuple(messages)


async def execute(
    kit: Kit, runs: RecordingTools, limits: ToolCallLimits | None, history: tuple[Message, ...], *names: str
) -> ToolExecution:
    options = ToolOptions(tools=(runs.tool("clock"), runs.tool("weather")))
    manager = kit.ToolCallingManager(limits=limits)
    found: ToolExecution = await kit.of(manager.execute, Prompt(history, options), answer_calling(*names))
    return found


async def test_breach_raises_with_the_results_before_it(kit: Kit) -> None:
    runs = RecordingTools()
    with pytest.raises(ToolCallLimitExceeded, match="'clock' cannot be called again in this turn: the limit is 2") as breach:
        await execute(kit, runs, ToolCallLimits(per_tool=2), (user("hi"),), "clock", "weather", "clock", "clock", "weather")
    assert runs.made == ["clock", "weather", "clock"]
    assert breach.value.partial is not None
    assert [result.call_id for result in breach.value.partial.tool_results] == ["c1", "c2", "c3"]


async def test_breach_by_first_call_has_no_partial_results(kit: Kit) -> None:
    with pytest.raises(ToolCallLimitExceeded) as breach:
        await execute(kit, RecordingTools(), ToolCallLimits(total=0), (user("hi"),), "clock")
    assert breach.value.partial is None


async def test_breach_with_answer_mode_is_an_error_result(kit: Kit) -> None:
    runs = RecordingTools()
    limits = ToolCallLimits(per_tool=1, on_breach="answer")
    found = await execute(kit, runs, limits, (user("hi"),), "clock", "clock", "weather")
    assert runs.made == ["clock", "weather"]
    refused = "the tool 'clock' cannot be called again in this turn: the limit is 1"
    assert [(result.call_id, result.text, result.is_error) for result in found.results] == [
        ("c1", "clock says so", False),
        ("c2", refused, True),
        ("c3", "weather says so", False),
    ]


async def test_breach_with_answer_mode_disables_return_direct(kit: Kit) -> None:
    options = ToolOptions(tools=(RecordingTools().tool("clock", return_direct=True),))
    manager = kit.ToolCallingManager(limits=ToolCallLimits(per_tool=1, on_breach="answer"))
    found = await kit.of(manager.execute, Prompt((user("hi"),), options), answer_calling("clock", "clock"))
    assert not found.return_direct


async def test_excluded_tool_counts_only_toward_the_total(kit: Kit) -> None:
    runs = RecordingTools()
    limits = ToolCallLimits(per_tool=1, total=4, excluded=frozenset({"clock"}))
    await execute(kit, runs, limits, (user("hi"),), "clock", "clock", "clock", "weather")
    assert runs.made == ["clock", "clock", "clock", "weather"]
    with pytest.raises(ToolCallLimitExceeded, match="no more tools can be called in this turn: the limit is 4"):
        await execute(kit, runs, limits, (user("hi"),), *["clock"] * 5)


async def test_total_limit_counts_calls_of_all_tools(kit: Kit) -> None:
    runs = RecordingTools()
    with pytest.raises(ToolCallLimitExceeded, match="the limit is 3"):
        await execute(kit, runs, ToolCallLimits(per_tool=None, total=3), (user("hi"),), "clock", "weather", "clock", "weather")
    assert runs.made == ["clock", "weather", "clock"]


async def test_default_limits_are_40_per_tool_and_150_in_total(kit: Kit) -> None:
    runs = RecordingTools()
    assert (ToolCallLimits().per_tool, ToolCallLimits().total) == (40, 150)
    await execute(kit, runs, None, (user("hi"),), *["clock"] * 40)
    assert len(runs.made) == 40
    with pytest.raises(ToolCallLimitExceeded, match=r"'clock'.*the limit is 40"):
        await execute(kit, RecordingTools(), None, (user("hi"),), *["clock"] * 41)
    every = ToolCallLimits(per_tool=None)
    await execute(kit, RecordingTools(), every, (user("hi"),), *["clock"] * 150)
    with pytest.raises(ToolCallLimitExceeded, match="the limit is 150"):
        await execute(kit, RecordingTools(), every, (user("hi"),), *["clock"] * 151)


async def test_limits_of_none_are_unbounded(kit: Kit) -> None:
    runs = RecordingTools()
    await execute(kit, runs, ToolCallLimits(per_tool=None, total=None), (user("hi"),), *["clock"] * 200)
    assert len(runs.made) == 200


async def test_limits_count_earlier_rounds_of_the_same_turn_only(kit: Kit) -> None:
    limits = ToolCallLimits(per_tool=2)
    earlier = (user("hi"), *rounds("clock", "clock"), assistant("hello"), user("again"))
    runs = RecordingTools()
    await execute(kit, runs, limits, (*earlier, *rounds("clock")), "clock")
    assert runs.made == ["clock"]
    with pytest.raises(ToolCallLimitExceeded):
        await execute(kit, runs, limits, (*earlier, *rounds("clock", "clock")), "clock")
    with pytest.raises(ToolCallLimitExceeded):  # a resumed turn has no new user message
        await execute(kit, runs, limits, rounds("clock", "clock"), "clock")


@pytest.mark.parametrize(
    ("settings", "named"), [({"per_tool": -1}, "per_tool"), ({"total": -1}, "total"), ({"on_breach": "shrug"}, "on_breach")]
)
def test_invalid_limits_are_rejected_by_name(settings: dict[str, object], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        ToolCallLimits(**settings)  # type: ignore[arg-type]

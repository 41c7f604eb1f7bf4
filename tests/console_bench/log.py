"""A long session as agents write it: prose, lists, code, tool calls with results."""

from __future__ import annotations

import json
import random

import threadkeep
from tests.bench.payloads import words
from threadkeep import SessionEvent, assistant, tool_call, tool_result, user

SESSION = "long"
BATCH = 1_000


def turn(number: int) -> list[SessionEvent]:
    """Returns the five events of a turn: about 2 kB."""
    source = random.Random(number)
    call = f"c{number}"
    plan = "\n".join(f"- **{words(source, 20)[:20]}**: {words(source, 60)}" for _ in range(source.randint(2, 5)))
    found = [{"id": source.randint(1, 9_999), "name": words(source, 20)[:20], "open": n % 2 == 0} for n in range(3)]
    code = f"```python\ndef step_{number}(order):\n    return [each for each in order if each.open]\n```"
    return [
        user(words(source, source.choice((40, 120, 400)))),
        assistant(f"{words(source, 120)}\n\n{plan}", author="planner", tool_calls=[tool_call(call, "find", {"page": number})]),
        tool_result(call, json.dumps({"orders": found}), name="find"),
        assistant(f"{words(source, 200)}\n\n{code}\n\n{words(source, 100)}", author="writer"),
        assistant(words(source, source.choice((60, 300))), author="planner"),
    ]


def fill(client: threadkeep.Client, count: int) -> None:
    """Appends events until the session has `count`; those of an earlier run are kept."""
    try:
        last = client.get_session(SESSION).last_seq
    except threadkeep.errors.SessionNotFound:
        last = 0
    events: list[SessionEvent] = []
    number = last // 5
    while last < count:
        events += turn(number)
        number += 1
        if len(events) >= BATCH or last + len(events) >= count:
            client.append(SESSION, *events[: count - last], create_if_missing=True)
            last += len(events)
            events.clear()

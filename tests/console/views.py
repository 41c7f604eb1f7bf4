"""Every page of the console, with an element that only the page with its data has."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import threadkeep
from threadkeep import SessionEvent, assistant, compaction, tool_call, tool_result, user

APP, USER, SESSION = "shop", "vera", "order-7"
_OF_SESSION = f"app={APP}&user={USER}&id={SESSION}"


@dataclass(frozen=True)
class View:
    name: str
    path: str
    shows: str
    """A selector."""


VIEWS = (
    View("overview", "overview", ".numbers .value"),
    View("sessions", f"sessions?app={APP}", f'.spread > [role=row]:has-text("{SESSION}")'),
    View("session", f"session?{_OF_SESSION}", '[data-seq="11"]:has-text("arrives on Monday")'),
    View("context", f"context?{_OF_SESSION}", '[data-seq="11"]:has-text("arrives on Monday")'),
    View("details", f"details?{_OF_SESSION}", '[aria-label="Branches"] :text("root")'),
    View("search", f"search?app={APP}&user={USER}&q=order", ".excerpt mark"),
    View("memories", f"memories?app={APP}&user={USER}", '.memory:has-text("Monday")'),
    View("changes", "changes", ':text("Waiting for changes"), .change'),
    View("consumers", "changes?show=consumers", "main table, main .notice"),
    View("policies", f"policies?{_OF_SESSION}", ':text("It is set for")'),
    View("access", "access", "main dl dd"),
    View("no-session", f"session?app={APP}&user={USER}&id=none", '[role=alert]:has-text("SESSION_NOT_FOUND")'),
    View("no-page", "nowhere", "main .notice h2"),
)


def events() -> list[SessionEvent]:
    """Returns what a support agent and its helpers wrote, in order."""
    found = {"order": {"id": 7, "state": "sent", "parcels": [{"carrier": "Hermes", "weight_kg": 1.2}]}}
    return [
        user("Where is **my order**? I ordered *two lamps* last week."),
        assistant("Let me look.", tool_calls=[tool_call("a1", "find_order", {"id": 7})], author="planner"),
        tool_result("a1", found, name="find_order"),
        assistant(
            "It was sent on Friday.\n\n| parcel | state |\n| - | - |\n| lamp | sent |\n| bulb | packed |", author="writer"
        ),
        user("Can the bulb come with it?"),
        assistant("I check with the warehouse.", tool_calls=[tool_call("a2", "hold_parcel", {"order": 7})], author="planner"),
        threadkeep.tool_error("a2", "The parcel has left the warehouse.", name="hold_parcel"),
        assistant("No: it has left.\n\n```python\nhold(order=7)  # refused\n```", author="planner", branch="planner.warehouse"),
        assistant("It is too late for that. Both come *free of charge*.", author="writer"),
        user("When does it arrive?"),
        assistant("Your order arrives on Monday.", author="writer"),
    ]


def tell(client: threadkeep.Client) -> None:
    """Writes the session that the views show, its policy, and memories of it."""
    ref = threadkeep.SessionRef(app=APP, user_id=USER, session_id=SESSION)
    with contextlib.suppress(threadkeep.errors.SessionNotFound):
        client.get_session(ref)
        return  # another test has
    client.append(ref, *events(), state={"set": {"order": 7, "city": "Lisbon"}}, create_if_missing=True)
    client.session(ref).policy().set(compaction.policy(compaction.tokens(4_000), compaction.turn_window(7)))
    client.memory(user_id=USER).add_session(SESSION)

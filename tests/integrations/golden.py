"""The golden conversation, which every adapter writes and every adapter reads, in atoms that no framework prescribes.

An atom is a JSON object:

    {"role": "user", "kind": "text", "text": "..."}
    {"role": "user", "kind": "media", "mime": "image/png", "data": "<base64>"}
    {"role": "assistant", "kind": "reasoning", "text": "..."}
    {"role": "assistant", "kind": "call", "id": "c1", "name": "weather", "arguments": {...}}
    {"role": "tool", "kind": "result", "id": "c1", "value": {...} or "text", "error": false}
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

Atom = dict[str, Any]

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="  # one pixel
CONVERSATION: Sequence[Atom] = (
    {"role": "user", "kind": "text", "text": "Compare the weather in Lisbon and Oslo with this map."},
    {"role": "user", "kind": "media", "mime": "image/png", "data": PIXEL},
    {"role": "assistant", "kind": "reasoning", "text": "Two cities need two calls."},
    {"role": "assistant", "kind": "text", "text": "Let me look at both."},
    {"role": "assistant", "kind": "call", "id": "call_lisbon", "name": "weather", "arguments": {"city": "Lisbon"}},
    {"role": "assistant", "kind": "call", "id": "call_oslo", "name": "weather", "arguments": {"city": "Oslo"}},
    {"role": "tool", "kind": "result", "id": "call_lisbon", "value": {"celsius": 21, "sky": "clear"}, "error": False},
    {"role": "tool", "kind": "result", "id": "call_oslo", "value": "the station is offline", "error": True},
    {"role": "assistant", "kind": "text", "text": "Lisbon has 21 °C. Oslo's station is offline. Shall I book Lisbon?"},
    # The run is interrupted here: the application lets a person decide, and the next run begins with the result.
    {"role": "assistant", "kind": "call", "id": "call_book", "name": "book", "arguments": {"city": "Lisbon", "nights": 2}},
    {"role": "tool", "kind": "result", "id": "call_book", "value": {"booked": True}, "error": False},
    {"role": "assistant", "kind": "text", "text": "Booked. Enjoy Lisbon. 🌞"},
)

LOST: Mapping[str, Mapping[str, str]] = {
    "go/eino": {"error": "a message of a tool has no mark of a failure"},
    "go/langchaingo": {"error": "a tool's result is a text, without a mark of failure"},
    "typescript/openai-agents": {"error": "a function's result is its output, without a mark of failure"},
    "java/spring-ai-session": {"error": "a tool's response is its data, without a mark of failure"},
    "openai_agents": {"error": "a function's output has no mark of a failure"},
    "llama_index": {"error": "a message has no mark of a tool that failed"},
    "claude_agent": {"reasoning": "Anthropic refuses reasoning that it did not sign"},
}
"""What a framework's own items cannot express, by adapter: the field of an atom, or its kind, with the reason. It is lost
whether the adapter writes or reads. docs/integrations/mapping.md lists the same."""


def normal(atoms: Sequence[Atom], *adapters: str) -> list[Atom]:
    """The atoms in one spelling, without what one of the adapters cannot express."""
    lost = {each for adapter in adapters for each in LOST.get(adapter, {})}
    found = []
    for atom in atoms:
        if atom["kind"] not in lost:
            value = {"value": _value(atom["value"])} if "value" in atom else {}
            found.append({key: each for key, each in {**atom, **value}.items() if key not in lost})
    return found


def _value(value: object) -> object:
    """A result, which some frameworks keep as text: JSON if it is JSON."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value

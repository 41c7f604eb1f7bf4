"""A fake model endpoint on loopback: OpenAI's chat completions, whole and streamed, and failures that tests choose.

`loopback_anthropic` and `loopback_gemini` have the formats of the other vendors; failures are the same for all.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any

from ...support.models.model_endpoint import Behaviour, ModelEndpoint, replies, served

__all__ = [
    "Loopback",
    "call",
    "calls_in_deltas",
    "chunk",
    "completion",
    "cut_short",
    "drips",
    "events",
    "loopback",
    "refuses",
    "replies",
]

KEY = "sk-secret-0123456789"
USAGE = {
    "prompt_tokens": 50,
    "completion_tokens": 12,
    "total_tokens": 62,
    "prompt_tokens_details": {"cached_tokens": 20},
    "completion_tokens_details": {"reasoning_tokens": 3},
}


class Loopback(ModelEndpoint):
    """`requests` has the received requests; `gone` is set when a client disconnects before the end of its answer."""

    connections = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        await super().serve(reader, writer)

    @property
    def body(self) -> Any:
        """The JSON of the last request."""
        return self.requests[-1].json


@contextlib.asynccontextmanager
async def loopback(provider: str = "openai") -> AsyncIterator[Loopback]:
    """Serves an endpoint on a free port."""
    async with served(Loopback(provider)) as model:
        yield model


def completion(
    text: str | None = None, *, calls: Sequence[Mapping[str, Any]] = (), reason: str = "", **message: Any
) -> dict[str, Any]:
    """Returns a whole answer; `message` adds fields to its message."""
    said = {"role": "assistant", "content": text} | ({"tool_calls": list(calls)} if calls else {}) | message
    choice = {"index": 0, "message": said, "finish_reason": reason or ("tool_calls" if calls else "stop")}
    return {"id": "c1", "object": "chat.completion", "model": "small-2026", "choices": [choice], "usage": USAGE}


def chunk(delta: Mapping[str, Any] | None = None, *, reason: str | None = None, usage: Any = None) -> dict[str, Any]:
    """Returns one chunk of a stream; without a delta and a reason it has no choice."""
    choice = {"index": 0, "delta": dict(delta or {}), "finish_reason": reason}
    choices = [] if delta is None and reason is None else [choice]
    return {"id": "c1", "object": "chat.completion.chunk", "model": "small-2026", "choices": choices, "usage": usage}


def call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calls_in_deltas(calls: Sequence[Mapping[str, Any]], cut: int = 3) -> list[dict[str, Any]]:
    """Returns chunks of parallel calls: the heads first, then the arguments, interleaved, `cut` characters each."""
    found = []
    rest: dict[int, str] = {}
    for index, each in enumerate(calls):
        rest[index] = each["function"]["arguments"]
        head = {**each, "index": index, "function": {**each["function"], "arguments": ""}}
        found.append(chunk({"tool_calls": [head]}))
    while any(rest.values()):
        for index, text in rest.items():
            if text:
                found.append(chunk({"tool_calls": [{"index": index, "function": {"arguments": text[:cut]}}]}))
                rest[index] = text[cut:]
    return found


def events(items: Iterable[Any], *, done: bool = True, cut: int = 0, then: str = "end") -> Behaviour:
    """Returns a stream of events: strings are sent unchanged, other items as the JSON of a `data` line.

    `cut` > 0: send pieces of that many bytes. `then`: "end" the stream, "hang" without ending it, or "cut" the connection.
    """
    text = "".join(item if isinstance(item, str) else f"data: {json.dumps(item)}\n\n" for item in items)
    data = (text + ("data: [DONE]\n\n" if done else "")).encode()

    async def behave(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        for at in range(0, len(data), cut or len(data) or 1):
            piece = data[at : at + cut] if cut else data
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
            if cut:
                await asyncio.sleep(0)
        if then == "hang":
            await asyncio.Event().wait()
        if then == "cut":
            writer.close()
        else:
            writer.write(b"0\r\n\r\n")
            await writer.drain()

    return behave


def drips(body: bytes, *, every: float = 0.05, status: str = "200 OK") -> Behaviour:
    """Sends an answer byte by byte, so that no timeout of a single read ends it."""

    async def behave(writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n".encode())
        for at in range(len(body)):
            writer.write(body[at : at + 1])
            await writer.drain()
            await asyncio.sleep(every)

    return behave


def cut_short(body: Any) -> Behaviour:
    """Sends headers for a whole answer, then half of it, and closes the connection."""
    text = json.dumps(body).encode()

    async def behave(writer: asyncio.StreamWriter) -> None:
        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(text)}\r\n\r\n"
        writer.write(head.encode() + text[: len(text) // 2])
        await writer.drain()
        writer.close()

    return behave


def refuses(status: int, message: str = "", *, headers: dict[str, str] | None = None) -> Behaviour:
    """Returns an error in the format that all providers share."""
    return replies({"error": {"message": message, "type": "some_error"}}, status=status, headers=headers)

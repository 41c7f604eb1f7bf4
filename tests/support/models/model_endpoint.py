"""A model endpoint on loopback: responds like OpenAI or Anthropic, or misbehaves as configured."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

Behaviour = Callable[[asyncio.StreamWriter], Awaitable[None]]

TEXT = "Alice flies to Oslo on Friday."


@dataclass
class Request:
    path: str
    headers: dict[str, str]
    json: Any
    body: bytes = b""


class ModelEndpoint:
    """Speaks the protocol of one provider. Each request gets the next behavior; the last one repeats."""

    def __init__(self, provider: str) -> None:
        self.provider = provider
        self.requests: list[Request] = []
        self.requested = asyncio.Event()
        self.gone = asyncio.Event()  # a client disconnected before the response
        self.port = 0
        self._behaviours: list[Behaviour] = [replies(self.answer())]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}" + ("/v1" if self.provider == "openai" else "")

    def does(self, *behaviours: Behaviour) -> None:
        self._behaviours = list(behaviours)

    def answer(self, text: object = TEXT, *, ending: str = "", **changes: object) -> dict[str, object]:
        """Returns a response of 12 tokens to a prompt of 50, 20 of them cached; `changes` replace its fields."""
        if self.provider == "openai":
            body: dict[str, object] = {
                "id": "c1",
                "object": "chat.completion",
                "created": 1_750_000_000,
                "model": "small-2026",
                "choices": [{"index": 0, "finish_reason": ending or "stop", "message": {"role": "assistant", "content": text}}],
                "usage": {
                    "prompt_tokens": 50,
                    "completion_tokens": 12,
                    "total_tokens": 62,
                    "prompt_tokens_details": {"cached_tokens": 20},
                    "completion_tokens_details": {"reasoning_tokens": 3},
                },
            }
        else:
            body = {
                "id": "m1",
                "type": "message",
                "role": "assistant",
                "model": "small-2026",
                "content": [{"type": "text", "text": text}],
                "stop_reason": ending or "end_turn",
                "stop_sequence": None,
                "usage": {
                    "input_tokens": 30,
                    "cache_read_input_tokens": 20,
                    "cache_creation_input_tokens": 0,
                    "output_tokens": 12,
                    "output_tokens_details": {"thinking_tokens": 3},
                },
            }
        return body | changes

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                self.requests.append(await _read_request(reader))
                self.requested.set()
                behaviour = self._behaviours.pop(0) if len(self._behaviours) > 1 else self._behaviours[0]
                if not await self._unless_gone(behaviour(writer), reader):
                    self.gone.set()
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # between requests; no response is due
        finally:
            writer.transport.abort()

    @staticmethod
    async def _unless_gone(behaviour: Awaitable[None], reader: asyncio.StreamReader) -> bool:
        answering = asyncio.ensure_future(behaviour)
        hung_up = asyncio.ensure_future(_hung_up(reader))
        try:
            await asyncio.wait({answering, hung_up}, return_when=asyncio.FIRST_COMPLETED)
            return answering.done() and answering.exception() is None
        finally:
            for task in (answering, hung_up):
                task.cancel()
            await asyncio.gather(answering, hung_up, return_exceptions=True)


Served = TypeVar("Served", bound=ModelEndpoint)


@contextlib.asynccontextmanager
async def endpoint(provider: str) -> AsyncIterator[ModelEndpoint]:
    """Serves on a free port."""
    async with served(ModelEndpoint(provider)) as model:
        yield model


@contextlib.asynccontextmanager
async def served(model: Served) -> AsyncIterator[Served]:
    """Serves a model on a free port."""
    serving: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(model.serve(reader, writer))
        serving.add(task)
        task.add_done_callback(serving.discard)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    model.port = server.sockets[0].getsockname()[1]
    try:
        yield model
    finally:
        server.close()
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
        await server.wait_closed()


def replies(body: object = None, *, status: int = 200, headers: dict[str, str] | None = None) -> Behaviour:
    """Sends a complete response. A body that is not a string is sent as JSON."""
    text = body if isinstance(body, str) else json.dumps(body)
    return _sends(_head(status, len(text.encode()), headers) + text.encode())


def compressed(body: str) -> Behaviour:
    packed = gzip.compress(body.encode())
    return _sends(_head(200, len(packed), {"content-encoding": "gzip"}) + packed)


def breaks_off(body: object) -> Behaviour:
    """Sends half of a response, then closes the connection."""
    text = json.dumps(body).encode()

    async def behave(writer: asyncio.StreamWriter) -> None:
        writer.write(_head(200, len(text), None) + text[: len(text) // 2])
        await writer.drain()
        writer.close()

    return behave


def never_ends(chunk: bytes = b" " * 65_536, *, every: float = 0.0) -> Behaviour:
    """Sends a chunked response without a last chunk."""

    async def behave(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
        while True:
            writer.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
            await writer.drain()
            await asyncio.sleep(every)

    return behave


async def hangs(_: asyncio.StreamWriter) -> None:
    """Reads the request and never responds."""
    await asyncio.Event().wait()


def _sends(data: bytes) -> Behaviour:
    async def behave(writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()

    return behave


def _head(status: int, length: int, headers: dict[str, str] | None) -> bytes:
    fields = {"content-type": "application/json", "content-length": str(length)} | (headers or {})
    lines = [f"HTTP/1.1 {status} Response", *(f"{name}: {value}" for name, value in fields.items())]
    return "\r\n".join([*lines, "", ""]).encode()


async def _read_request(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    request_line, *lines = head.strip().split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(request_line.split()[1], headers, json.loads(body), body)


async def _hung_up(reader: asyncio.StreamReader) -> None:
    # Reading would detect it sooner, but could consume the first byte of the next request.
    while not reader.at_eof():  # noqa: ASYNC110
        await asyncio.sleep(0.01)

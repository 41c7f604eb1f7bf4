"""A webhook on loopback that plans compactions, and the server's settings for it."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .model_endpoint import Behaviour, ModelEndpoint, Request, endpoint, replies

SECRET = bytes(range(32))
SUMMARY = "They planned a trip."
Plan = Mapping[str, Any]


def webhooks_file(folder: Path, **urls: str) -> Path:
    """Writes the file of webhooks with these names and addresses."""
    secret = "whsec_" + base64.b64encode(SECRET).decode()
    path = folder / "webhooks.toml"
    path.touch(mode=0o600)
    path.write_text("".join(f'[{name}]\nurl = "{url}"\nsecret = "{secret}"\n' for name, url in urls.items()))
    return path


def plans(model: ModelEndpoint, make: Callable[[Any], object]) -> Behaviour:
    """Answers with what `make` returns for the request."""

    async def behave(writer: asyncio.StreamWriter) -> None:
        await replies(make(model.requests[-1].json))(writer)

    return behave


def summary(before: str = "", text: str = SUMMARY, event_id: str = "") -> dict[str, Any]:
    """An insert of one synthetic event."""
    message = {"role": "ROLE_ASSISTANT", "parts": [{"text": text}]}
    event = {"eventId": event_id, "synthetic": True, "compactionSource": "webhook", "message": message}
    return {"beforeEventId": before, "events": [event]}


def keep_last(count: int) -> Callable[[Any], Plan]:
    """Archives all events but the last ones, and inserts a summary before them."""

    def make(request: Any) -> Plan:
        ids = [event["eventId"] for event in request["events"]]
        gone, kept = ids[:-count], ids[-count:]
        return {"archiveEventIds": gone, "inserts": [summary(kept[0])]} if gone else {}

    return make


def is_signed(request: Request, secret: bytes = SECRET) -> bool:
    """Verifies a request as Standard Webhooks describes it."""
    signed = f"{request.headers['webhook-id']}.{request.headers['webhook-timestamp']}.".encode() + request.body
    expected = "v1," + base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()
    return hmac.compare_digest(expected, request.headers["webhook-signature"])


@contextmanager
def webhook() -> Iterator[ModelEndpoint]:
    """Serves in a thread with its own event loop."""
    ready: list[ModelEndpoint] = []
    started, stop = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with endpoint("webhook") as running:
            ready.append(running)
            started.set()
            await stop.wait()

    def work() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(serve())

    thread = threading.Thread(target=work, name="webhook")
    thread.start()
    assert started.wait(60)
    try:
        yield ready[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(60)

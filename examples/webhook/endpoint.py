"""A webhook that compacts: keeps the newest turns, and replaces earlier ones by a summary. Needs the standard library only."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEPT_TURNS = 1
TOLERANCE_S = 300
MAX_BYTES = 8 << 20  # more than the server sends
SECRET = base64.b64decode(os.environ.get("WEBHOOK_SECRET", "").removeprefix("whsec_"))

Event = dict[str, Any]


def is_signed(headers: Message, body: bytes) -> bool:
    """Returns whether the request comes from the server and is not old. Libraries of Standard Webhooks do the same."""
    timestamp = headers.get("webhook-timestamp", "")
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > TOLERANCE_S:
        return False
    signed = f"{headers.get('webhook-id', '')}.{timestamp}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.digest(SECRET, signed, hashlib.sha256)).decode()
    return hmac.compare_digest(expected.encode(), headers.get("webhook-signature", "").encode())


def summarize(events: Sequence[Event]) -> str:
    """Call your model here. This stand-in returns the beginning of each text."""
    texts = [part["text"] for event in events for part in event["message"].get("parts", []) if "text" in part]
    return "Earlier: " + " / ".join(text[:40] for text in texts)


def plan(request: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the CompactionPlan of a CompactionPlanRequest."""
    events: list[Event] = request.get("events", [])
    # A turn begins with a message of the user, so whole turns keep tool calls and their results together.
    turns = [n for n, each in enumerate(events) if each["message"]["role"] == "ROLE_USER" and not each.get("synthetic")]
    if len(turns) <= KEPT_TURNS:
        return {}
    first_kept = turns[-KEPT_TURNS]
    gone = [event for event in events[:first_kept] if event["message"]["role"] != "ROLE_SYSTEM"]
    summary = {
        "synthetic": True,
        "compactionSource": "example",
        "message": {"role": "ROLE_ASSISTANT", "parts": [{"text": summarize(gone)}]},
    }
    insert = {"beforeEventId": events[first_kept]["eventId"], "events": [summary]}
    return {"archiveEventIds": [event["eventId"] for event in gone], "inserts": [insert]}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        size = int(self.headers.get("content-length", "0"))
        body = self.rfile.read(size) if size <= MAX_BYTES else b""
        if not is_signed(self.headers, body):
            self.send_error(401)
            return
        answer = json.dumps(plan(json.loads(body))).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        """Logs nothing: requests contain conversations."""


def main(port: int) -> None:
    if not SECRET:
        raise SystemExit("set WEBHOOK_SECRET to the secret of the webhook, whsec_...")
    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        print(f"serving on port {server.server_port}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    try:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 8090)
    except KeyboardInterrupt:
        sys.exit(130)

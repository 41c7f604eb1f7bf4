"""An endpoint on the loopback that answers as Anthropic's API does, for the real process of Claude Code."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, SessionStore

CALL: list[dict[str, Any]] = [
    {"type": "text", "text": "Let me look."},
    {"type": "tool_use", "id": "toolu_0", "name": "Bash", "input": {"command": "echo hi"}},
]
ANSWER: list[dict[str, Any]] = [{"type": "text", "text": "It says hi."}]


class Model:
    """A model that calls a tool after each prompt and answers after its result. `requests`: what it was sent."""

    def __init__(self, during: Callable[[], None] | None = None) -> None:
        self.requests: list[dict[str, Any]] = []
        self._during = during

    def answer(self, request: dict[str, Any]) -> bytes:
        """The events of an answer. `during` runs once, before the first answer to a tool's result."""
        self.requests.append(request)
        if "tool_result" not in json.dumps(request["messages"][-1]):
            call = CALL[1] | {"id": f"toolu_{len(self.requests)}"}
            return _events([CALL[0], call], "tool_use")
        if self._during is not None:
            during, self._during = self._during, None
            during()
        return _events(ANSWER, "end_turn")

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Serves it, and yields its address."""
        model = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args: object) -> None:
                """Nothing."""

            def do_HEAD(self) -> None:
                self.send_response(200)
                self.end_headers()

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                answer = model.answer(request)
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                self.wfile.write(answer)

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


def _events(blocks: list[dict[str, Any]], stop: str) -> bytes:
    """The stream of one answer, of 10 tokens read and 5 written."""
    usage = {"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    message = {"id": f"msg_{uuid.uuid4().hex}", "type": "message", "role": "assistant", "model": "scripted", "content": []}
    found: list[dict[str, Any]] = [{"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}}]
    for index, block in enumerate(blocks):
        empty, delta = _begun(block)
        found.append({"type": "content_block_start", "index": index, "content_block": empty})
        found.append({"type": "content_block_delta", "index": index, "delta": delta})
        found.append({"type": "content_block_stop", "index": index})
    found.append({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 5}})
    found.append({"type": "message_stop"})
    return "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in found).encode()


def _begun(block: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    if block["type"] == "text":
        return {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
    return {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}


def options(store: SessionStore, folder: Path, work: Path, address: str, **others: Any) -> ClaudeAgentOptions:
    """Options of a run whose process knows nothing but `folder` and reaches nothing but the model."""
    own = {
        "ANTHROPIC_BASE_URL": address,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CONFIG_DIR": str(folder),
        "HOME": str(folder),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
    }
    return ClaudeAgentOptions(
        session_store=store,
        session_store_flush="eager",
        env=own,
        cwd=work,
        allowed_tools=["Bash"],
        setting_sources=[],
        load_timeout_ms=120_000,
        **others,
    )

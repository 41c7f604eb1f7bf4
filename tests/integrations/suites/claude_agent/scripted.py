"""The process of Claude Code, played by a script: it answers, and mirrors the lines of its transcript as the process does."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, Message, SessionStore, Transport, query

PROJECT = "-project"


class Process(Transport):
    """One run. `folder`: the configuration folder, with the transcripts that the process writes; `during`: what happens while
    the tool runs."""

    def __init__(self, folder: Path, session_id: str, *, during: Callable[[], Awaitable[None]] | None = None) -> None:
        self.file = folder / "projects" / PROJECT / f"{session_id}.jsonl"
        self.lines: list[dict[str, Any]] = []
        self._session_id = session_id
        self._during = during
        self._out: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

    async def connect(self) -> None:
        """Continues the transcript, if there is one."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        if self.file.exists():
            self.lines = [json.loads(line) for line in self.file.read_text().splitlines()]

    async def write(self, data: str) -> None:
        """Takes a request of the SDK, or the prompt."""
        message = json.loads(data)
        if message["type"] == "control_request":
            done = {"subtype": "success", "request_id": message["request_id"], "response": {}}
            await self._out.put({"type": "control_response", "response": done})
        elif message["type"] == "user":
            await self._turn(message["message"]["content"])

    async def _turn(self, prompt: str) -> None:
        call = {"type": "tool_use", "id": f"toolu_{len(self.lines)}", "name": "Bash", "input": {"command": "ls"}}
        await self._say("user", prompt)
        await self._say("assistant", [call])
        if self._during is not None:
            await self._during()
        await self._say("user", [{"type": "tool_result", "tool_use_id": call["id"], "content": "a.txt"}])
        await self._say("assistant", [{"type": "text", "text": "There is a.txt."}])
        await self._mirror({"type": "last-prompt", "lastPrompt": prompt, "sessionId": self._session_id})
        result = {"type": "result", "subtype": "success", "duration_ms": 1, "duration_api_ms": 1, "is_error": False}
        await self._out.put({**result, "num_turns": 1, "session_id": self._session_id, "result": "There is a.txt."})

    async def _say(self, role: str, content: Any) -> None:
        parent = next((line["uuid"] for line in reversed(self.lines) if "uuid" in line), None)
        message = {"role": role, "content": content} | ({"model": "scripted"} if role == "assistant" else {})
        line = {
            "type": role,
            "parentUuid": parent,
            "uuid": str(uuid.uuid4()),
            "sessionId": self._session_id,
            "message": message,
        }
        await self._mirror({**line, "isSidechain": False, "timestamp": "2026-11-27T08:00:00.000Z"})
        if role == "assistant":
            await self._out.put({"type": "assistant", "message": message, "session_id": self._session_id})

    async def _mirror(self, line: dict[str, Any]) -> None:
        """Writes a line to the local transcript, then to the SDK."""
        self.lines.append(line)
        with self.file.open("a") as file:
            file.write(json.dumps(line) + "\n")
        await self._out.put({"type": "transcript_mirror", "filePath": str(self.file), "entries": [line]})
        await asyncio.sleep(0.05)

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        """What the process prints."""
        while (message := await self._out.get()) is not None:
            yield message

    async def end_input(self) -> None:
        """The process ends with its input."""
        await self._out.put(None)

    async def close(self) -> None:
        """Ends the process."""
        await self._out.put(None)

    def is_ready(self) -> bool:
        """Always."""
        return True


async def run(process: Process, store: SessionStore, prompt: str) -> list[Message]:
    """The messages of one run of the SDK, which mirrors each line at once."""
    folder = process.file.parents[2]
    options = ClaudeAgentOptions(
        session_store=store, session_store_flush="eager", env={"CLAUDE_CONFIG_DIR": str(folder)}, cwd="/project"
    )
    return [message async for message in query(prompt=prompt, options=options, transport=process)]


def spoken(lines: Sequence[Any] | None) -> list[dict[str, Any]]:
    """The lines with an id. Of the others, the process mirrors only some."""
    return [line for line in lines or () if "uuid" in line]

"""A session store of the Claude Agent SDK on the server of THREADKEEP_ADDRESS, by default the local one.

It needs no key: it imports a transcript from the disk, as Claude Code writes it, and reads it with the SDK's own functions.
With a key, pass the store to `ClaudeAgentOptions(session_store=store)`: each run is then mirrored, line by line.
"""

import asyncio
import json
import os
import tempfile
import uuid
from pathlib import Path

from claude_agent_sdk import (
    get_session_messages_from_store,
    import_session_to_store,
    list_sessions_from_store,
    project_key_for_directory,
)

from threadkeep import AsyncClient
from threadkeep.integrations.claude_agent import ThreadkeepSessionStore


def write_transcript(folder: Path, project: str, session_id: str) -> None:
    """Two lines, as Claude Code writes them."""
    asked, answered = str(uuid.uuid4()), str(uuid.uuid4())
    common = {"sessionId": session_id, "isSidechain": False, "cwd": project, "timestamp": "2026-11-27T08:00:00.000Z"}
    question = {"role": "user", "content": "Which files are here?"}
    answer = {"role": "assistant", "content": [{"type": "text", "text": "There is a.txt."}]}
    lines = [
        {"type": "user", "uuid": asked, "parentUuid": None, "message": question, **common},
        {"type": "assistant", "uuid": answered, "parentUuid": asked, "message": answer, **common},
    ]
    file = folder / "projects" / project_key_for_directory(project) / f"{session_id}.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))


async def main() -> None:
    session_id = str(uuid.uuid4())
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CLAUDE_CONFIG_DIR"] = folder
        write_transcript(Path(folder), folder, session_id)
        async with AsyncClient(user_id="ada") as client:
            store = ThreadkeepSessionStore(client)
            await import_session_to_store(session_id, store, directory=folder)
            for info in await list_sessions_from_store(store, directory=folder):
                print("session:", info.summary)
            for message in await get_session_messages_from_store(store, session_id, directory=folder):
                print(f"{message.type}:", message.message["content"])


if __name__ == "__main__":
    asyncio.run(main())

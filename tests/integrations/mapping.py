"""Runs in a framework's environment: writes the golden conversation through its adapter, waits for the end of its input, and
prints a JSON object: atoms of all sessions as the adapter reads them, by session.

python -m tests.integrations.mapping ADDRESS NAME SESSION OTHER...
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys

from threadkeep import AsyncClient

APP, USER = "golden", "ada"


async def main(address: str, name: str, *sessions: str) -> None:
    """Writes the first session of the app "golden", and reads all when the others are there too."""
    adapter = importlib.import_module(f"tests.integrations.suites.{name}.golden")
    async with AsyncClient(address, app=APP, user_id=USER) as client:
        await adapter.write(client, sessions[0])
        print("written", flush=True)
        sys.stdin.read()
        print(json.dumps({session: await adapter.read(client, session) for session in sessions}))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

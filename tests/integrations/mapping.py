"""Runs in a framework's environment: writes the golden conversation through its adapter, or reads one and prints its atoms.

python -m tests.integrations.mapping ADDRESS NAME write SESSION
python -m tests.integrations.mapping ADDRESS NAME read SESSION...     prints a JSON object: atoms by session
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys

from threadkeep import AsyncClient

APP, USER = "golden", "ada"


async def main(address: str, name: str, what: str, *sessions: str) -> None:
    """Writes or reads sessions of the app "golden"."""
    adapter = importlib.import_module(f"tests.integrations.suites.{name}.golden")
    async with AsyncClient(address, app=APP, user_id=USER) as client:
        if what == "write":
            await adapter.write(client, *sessions)
        else:
            print(json.dumps({session: await adapter.read(client, session) for session in sessions}))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

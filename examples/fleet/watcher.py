"""Prints every event of the session as soon as it is stored, whichever framework wrote it, and compactions: ADDRESS SESSION."""

from __future__ import annotations

import asyncio
import sys

from threadkeep import Appended, AsyncClient, Compacted, Event

APP, USER = "fleet", "ada"


def shown(event: Event) -> str:
    """An event on a line."""
    calls = [f"calls {call.name}({call.arguments})" for call in event.tool_calls]
    results = [f"returns {result.text}" for result in event.tool_results]
    return " ".join([*([event.text] if event.text else []), *calls, *results])


async def main(address: str, session: str) -> None:
    """Follows the session until it is stopped."""
    async with AsyncClient(address, app=APP, user_id=USER) as client:
        async for change in client.watch(session, from_beginning=True, checkpoints=True):
            if isinstance(change, Compacted):
                print(f"     the policy archives {change.record.archived_events} events", flush=True)
            if not isinstance(change, Appended):
                continue
            for event in change.events:
                if text := shown(event):
                    print(f"{event.seq:>3}  {event.pb.author or event.role:<10} {text}", flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

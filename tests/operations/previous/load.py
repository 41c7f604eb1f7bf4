"""A load on servers, run with the client of either version: `python load.py ADDRESS NAME`, until its input ends.

It uses what both clients have. Prints a line of JSON: the acknowledged events of each session, and every call that failed.
"""

import asyncio
import json
import sys

import threadkeep

WRITERS = 2
PAUSE_S = 0.02


class Load:
    """Writers, each with a session that it also reads, and a watcher of each session."""

    def __init__(self, client, name):
        self._client = client
        self._sessions = [f"{name}-{number}" for number in range(WRITERS)]
        self.acknowledged = dict.fromkeys(self._sessions, 0)
        self.watched = dict.fromkeys(self._sessions, 0)
        self.failed = []
        self._ended = asyncio.Event()

    def end(self):
        self._ended.set()

    async def write(self, session):
        client = self._client
        while not self._ended.is_set():
            number = self.acknowledged[session]
            try:
                await client.append(session, threadkeep.user(f"event {number}"))
                self.acknowledged[session] += 1
                if number % 10 == 0:
                    texts = [event.text async for event in client.events(session)]
                    assert texts == [f"event {each}" for each in range(number + 1)], f"{session} has {len(texts)} events"
                    context = await client.get_context(session)
                    assert context.events[-1].text == f"event {number}", "the context lacks the last event"
            except Exception as error:
                self.failed.append(f"{session}, event {number}: {error!r}")
                await asyncio.sleep(0.1)
            await asyncio.sleep(PAUSE_S)

    async def watch(self, session):
        try:
            async for change in self._client.watch(session, after_seq=0):
                for event in getattr(change, "events", ()):
                    wanted = f"event {self.watched[session]}"
                    assert event.text == wanted, f"received {event.text!r} and not {wanted!r}"
                    self.watched[session] += 1
        except Exception as error:
            self.failed.append(f"watching {session}: {error!r}")

    async def run(self):
        for session in self._sessions:
            await self._client.create_session(session)
        writers = [asyncio.create_task(self.write(session)) for session in self._sessions]
        watchers = [asyncio.create_task(self.watch(session)) for session in self._sessions]
        await asyncio.gather(*writers)
        for _ in range(600):
            if self.watched == self.acknowledged:
                break
            await asyncio.sleep(0.1)
        for each in watchers:
            each.cancel()
        await asyncio.gather(*watchers, return_exceptions=True)


async def main():
    address, name = sys.argv[1:]
    async with threadkeep.AsyncClient(address, app="shop", user_id="ann", timeout=60) as client:
        load = Load(client, name)
        asyncio.get_running_loop().add_reader(sys.stdin.fileno(), load.end)
        await load.run()
    print(json.dumps({"acknowledged": load.acknowledged, "watched": load.watched, "failed": load.failed[:10]}), flush=True)


if __name__ == "__main__":
    asyncio.run(main())

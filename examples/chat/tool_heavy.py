"""An agent with many tool calls, whose history is compacted between turns: `python -m examples.chat.tool_heavy`

After each reply: if the window has more than 800 tokens, only its newest 3 turns stay. Archived events are still found by
search.
"""

from __future__ import annotations

import asyncio
from typing import Any

from tests.chat.reasoning import Thought, turn_of

from threadkeep import AsyncClient, chat, compaction, new_event_id, text_of

from .stand_in import a_model
from .stopping import quiet

ORDERS = 12


def order(number: int) -> str:
    """Returns an order with its history."""
    steps = "; ".join(f"day {day}: parcel {number}-{day} scanned at depot {day * 7 % 10}" for day in range(1, 12))
    return f"order {number}: 3 lamps, {steps}"


def stock(article: str) -> str:
    """Returns the stock of an article."""
    return f"{article}: 14"


def think(requested: dict[str, Any]) -> Thought:
    turn = turn_of(requested)
    number = int(str(turn[0]["content"]).rpartition(" ")[2])
    if turn[-1]["role"] == "tool":
        return f"Order {number} is at depot {11 * 7 % 10}, and there are lamps in stock."
    return [("order", {"number": number}), ("stock", {"article": "lamps"})]


async def main() -> None:
    async with AsyncClient(app="shop", user_id="ada") as memory, a_model(think) as model:
        session = f"orders-{new_event_id()}"
        advisor = chat.AsyncSessionMemoryAdvisor(
            memory, trigger=compaction.tokens(800), strategy=compaction.turn_window(max_turns=3)
        )
        client = chat.AsyncChatClient(model, system="You answer for a shop.", tools=[order, stock], advisors=[advisor])
        for number in range(1, ORDERS + 1):
            answer = await client.prompt(f"Where is order {number}").session(session).call()
            context = await memory.get_context(session)
            tokens = sum(event.token_estimate for event in context.events)
            print(f"{answer.text}  [window: {len(context.events)} events, {tokens} tokens]")
        done = [each async for each in memory.compactions(session)]
        stored = [event async for event in memory.events(session)]
        print(f"\n{len(done)} compactions; {len(stored)} events stored, {sum(e.archived for e in stored)} out of the window")
        found = await memory.search_page("parcel 1-4 depot", session=session, mode="ranked", fields=["tool_results"])
        best = found.hits[0].event
        print(f"found in event {best.seq}, archived: {best.archived}; {text_of(best) or 'a tool result'}")


if __name__ == "__main__":
    with quiet():
        asyncio.run(main())

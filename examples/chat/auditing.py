"""An advisor that writes an audit trail: messages, tools and tokens of each round: `python -m examples.chat.auditing`

It is inside of the tool loop and sees every round; an advisor outside of the loop sees only the turn.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any, TextIO

from tests.chat.reasoning import Thought, turn_of

from threadkeep import AsyncClient, chat, new_event_id
from threadkeep.chat import ChatClientRequest, ChatClientResponse, context_keys

from .stand_in import a_model
from .stopping import quiet


class Auditing(chat.AsyncBaseAdvisor):
    """Writes one line of JSON per round, without content."""

    def __init__(self, out: TextIO) -> None:
        super().__init__(name="audit", order=context_keys.SESSION_MEMORY_ORDER + 1)
        self._out = out

    async def before(self, request: ChatClientRequest, chain: chat.AsyncAdvisorChain) -> ChatClientRequest:
        # The request's context holds its state: one advisor serves many requests.
        return request.with_context({"audit.began": time.monotonic(), "audit.messages": len(request.messages)})

    async def after(self, response: ChatClientResponse, chain: chat.AsyncAdvisorChain) -> ChatClientResponse:
        took = time.monotonic() - response.context["audit.began"]
        line = {
            "session": response.context[context_keys.SESSION].partition("-")[0],
            "messages": response.context["audit.messages"],
            "tools": [call.name for call in response.tool_calls],
            "tokens": response.usage.total_tokens,
            "slow": took > 30,
        }
        print(json.dumps(line), file=self._out)
        return response


def refund(order: int) -> str:
    """Refunds an order."""
    return f"refunded order {order}"


def think(requested: dict[str, Any]) -> Thought:
    return "It is refunded." if turn_of(requested)[-1]["role"] == "tool" else [("refund", {"order": 7})]


async def main() -> None:
    async with AsyncClient(app="audited", user_id="ada") as memory, a_model(think) as model:
        client = chat.AsyncChatClient(
            model, tools=[refund], advisors=[chat.AsyncSessionMemoryAdvisor(memory), Auditing(sys.stdout)]
        )
        answer = await client.prompt("Refund order 7, please.").session(f"refunds-{new_event_id()}").call()
        print(answer.text)


if __name__ == "__main__":
    with quiet():
        asyncio.run(main())

"""langgraph: a graph of messages with a checkpoint saver, its own or ours. The last messages are read with the whole state."""

import asyncio
import contextlib
import uuid
from typing import Any

import measuring
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, MessagesState, StateGraph

CONFIG: Any = {"configurable": {"thread_id": "s1"}}


class Langgraph:
    """One thread of the graph."""

    def __init__(self, saver: BaseCheckpointSaver[str]) -> None:
        graph = StateGraph(MessagesState)
        graph.add_node("agent", lambda _: {})
        graph.add_edge(START, "agent")
        graph.add_edge("agent", END)
        self._graph = graph.compile(checkpointer=saver)

    async def append(self, text: str) -> None:
        message = HumanMessage(content=text, id=uuid.uuid4().hex)
        await self._graph.aupdate_state(CONFIG, {"messages": [message]}, as_node="agent")

    async def last(self, count: int) -> int:
        state = await self._graph.aget_state(CONFIG)
        return len(state.values["messages"][-count:])

    async def whole(self) -> int:
        state = await self._graph.aget_state(CONFIG)
        return len(state.values["messages"])


async def main() -> None:
    plan = measuring.plan()
    async with contextlib.AsyncExitStack() as stack:
        if "://" not in plan.url:
            from threadkeep import AsyncClient
            from threadkeep.integrations.langgraph import ThreadkeepSaver

            client = await stack.enter_async_context(AsyncClient(plan.url, app="bench", user_id="u1"))
            await measuring.measure(measuring.installed("langgraph"), Langgraph(ThreadkeepSaver(client)), plan)
            return
        if plan.url.startswith("sqlite:///"):
            from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

            saver = await stack.enter_async_context(AsyncSqliteSaver.from_conn_string(plan.url.removeprefix("sqlite:///")))
        else:
            from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

            saver = await stack.enter_async_context(AsyncPostgresSaver.from_conn_string(plan.url))
        await saver.setup()
        await measuring.measure(measuring.installed("langgraph"), Langgraph(saver), plan)


asyncio.run(main())

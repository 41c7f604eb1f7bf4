"""A graph of LangGraph whose thread is the session: ADDRESS SESSION QUESTION ANSWER.

It takes up what others wrote, and answers; a rule replaces the model.
"""

from __future__ import annotations

import asyncio
import re
import sys
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, MessagesState, StateGraph

from threadkeep import AsyncClient
from threadkeep.integrations.langgraph import ThreadkeepSaver

APP, USER = "fleet", "ada"


async def main(address: str, session: str, question: str, answer: str) -> None:
    """Takes one turn."""

    def think(state: MessagesState) -> dict[str, Any]:
        read = {found for message in state["messages"] for found in re.findall("«(.+?)»", message.text)}
        return {"messages": [AIMessage(f"«{answer}» Answers read: {len(read)}.", name="accountant")]}

    builder = StateGraph(MessagesState).add_node("think", think)
    builder.add_edge(START, "think").add_edge("think", END)
    async with AsyncClient(address, app=APP, user_id=USER) as client:
        saver = ThreadkeepSaver(client)
        graph = builder.compile(checkpointer=saver)
        config: RunnableConfig = {"configurable": {"thread_id": session}}
        others = await saver.amessages_of_others(config)
        await graph.ainvoke({"messages": [*others, HumanMessage(question)]}, config)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

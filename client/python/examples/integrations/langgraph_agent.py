"""A LangGraph agent whose checkpoints are kept by Threadkeep, and another agent that joins its conversation.

A rule replaces the model. The server is that of THREADKEEP_ADDRESS, by default the local one.
"""

import asyncio
import uuid
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, MessagesState, StateGraph

from threadkeep import AsyncClient, assistant, event_filter
from threadkeep.integrations.langgraph import ThreadkeepSaver, ThreadkeepStore


def think(state: MessagesState) -> dict[str, Any]:
    """What a model would answer: a call of the weather station, then what it returned."""
    last = state["messages"][-1]
    if isinstance(last, ToolMessage):
        return {"messages": [AIMessage(f"It is {last.text} in Oslo.")]}
    if "umbrella" in last.text:
        seen = next(message.text for message in state["messages"] if message.name == "planner")
        return {"messages": [AIMessage(f"The planner says: {seen}")]}
    call: Any = {"name": "weather", "args": {"city": "Oslo"}, "id": str(uuid.uuid4())}
    return {"messages": [AIMessage("Let me look.", tool_calls=[call])]}


def look(state: MessagesState) -> dict[str, Any]:
    """Runs the tool."""
    last = state["messages"][-1]
    calls = last.tool_calls if isinstance(last, AIMessage) else []
    return {"messages": [ToolMessage("4 °C", tool_call_id=call["id"], name=call["name"]) for call in calls]}


def route(state: MessagesState) -> str:
    """The node after `think`."""
    last = state["messages"][-1]
    return "look" if isinstance(last, AIMessage) and last.tool_calls else END


async def main() -> None:
    """Two runs of one thread; between them another agent writes to it."""
    builder = StateGraph(MessagesState).add_node("think", think).add_node("look", look)
    builder.add_edge(START, "think").add_conditional_edges("think", route, ["look", END]).add_edge("look", "think")
    async with AsyncClient(app="examples", user_id="ada") as client:
        saver, store = ThreadkeepSaver(client), ThreadkeepStore(client)
        graph = builder.compile(checkpointer=saver, store=store)
        thread_id = str(uuid.uuid4())
        config: RunnableConfig = {"configurable": {"thread_id": thread_id}}

        await graph.ainvoke({"messages": [HumanMessage("How is the weather in Oslo?")]}, config)
        await client.append(thread_id, assistant("Rain from six o'clock.", author="planner"))
        others = await saver.amessages_of_others(config)
        await graph.ainvoke({"messages": [*others, HumanMessage("Do I need an umbrella?")]}, config)

        async for event in client.events(thread_id, event_filter(branch_match="exact")):
            print(event.role, event.author or "-", event.text or [result.text for result in event.tool_results])
        print(len([each async for each in saver.alist(config)]), "checkpoints")

        await store.aput(("cities",), "oslo", {"text": "Ada visits Oslo in June"})
        print([item.value["text"] for item in await store.asearch(("cities",), query="June")])


asyncio.run(main())

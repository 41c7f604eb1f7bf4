// A graph of LangGraph whose thread is a session: two runs, its state in a new process, and the conversation as every other client reads
// it. A rule is the model, so no key is needed. THREADKEEP_ADDRESS specifies the server.

import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { connect, textOf } from "@threadkeep/client";
import { ThreadkeepSaver, ThreadkeepStore } from "@threadkeep/client/langgraph";

const client = connect({ app: "travel", userId: `alice-${Date.now()}` });
const store = new ThreadkeepStore(client);

function think({ messages }) {
  const last = messages.at(-1);
  if (last instanceof ToolMessage) return { messages: [new AIMessage({ id: "m4", content: `It is warm: ${last.content}.` })] };
  if (last.content.includes("hat")) return { messages: [new AIMessage({ id: "m6", content: "Yes, take a hat." })] };
  const call = { id: "call_1", name: "weather", args: { city: "Lisbon" }, type: "tool_call" };
  return { messages: [new AIMessage({ id: "m2", content: "", tool_calls: [call] })] };
}

async function act() {
  await store.put(["trips"], "lisbon", { text: "Alice plans a trip to Lisbon." });
  return { messages: [new ToolMessage({ id: "m3", content: "21 degrees", tool_call_id: "call_1", name: "weather" })] };
}

const graph = () =>
  new StateGraph(MessagesAnnotation)
    .addNode("think", think)
    .addNode("act", act)
    .addEdge(START, "think")
    .addConditionalEdges("think", ({ messages }) => (messages.at(-1).tool_calls?.length ? "act" : END), ["act", END])
    .addEdge("act", "think")
    .compile({ checkpointer: new ThreadkeepSaver(client), store });

const config = { configurable: { thread_id: "trip" } };
await graph().invoke({ messages: [new HumanMessage({ id: "m1", content: "How is the weather in Lisbon?" })] }, config);
const { messages } = await graph().invoke({ messages: [new HumanMessage({ id: "m5", content: "Do I need a hat?" })] }, config);
console.log(`${messages.length} messages in the state, the last one: ${messages.at(-1).content}`);

let checkpoints = 0;
for await (const _ of graph().getStateHistory(config)) checkpoints += 1;
console.log(`${checkpoints} checkpoints`);

for await (const event of client.session("trip").events({ filter: { branch: "", branchMatch: "exact" } })) {
  console.log(`${event.eventId}: ${textOf(event) || event.message?.parts[0]?.content.case}`);
}
const [found] = await store.search(["trips"], { query: "Lisbon" });
console.log(`remembered: ${found?.value.text}`);
client.close();

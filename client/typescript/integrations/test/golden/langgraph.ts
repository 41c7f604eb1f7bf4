import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import type { Client } from "@threadkeep/client";

import { ThreadkeepSaver } from "../../src/langgraph.js";
import { PIXEL, type Atom } from "../atoms.js";

type Block = { type: string; text?: string; reasoning?: string; mimeType?: string; data?: string };

function conversation(): BaseMessage[] {
  return [
    new HumanMessage({
      id: "m1",
      content: [
        { type: "text", text: "Compare the weather in Lisbon and Oslo with this map." },
        { type: "image", mimeType: "image/png", data: PIXEL },
      ],
    }),
    new AIMessage({
      id: "m2",
      content: [{ type: "reasoning", reasoning: "Two cities need two calls." }, { type: "text", text: "Let me look at both." }],
      tool_calls: [
        { name: "weather", args: { city: "Lisbon" }, id: "call_lisbon", type: "tool_call" },
        { name: "weather", args: { city: "Oslo" }, id: "call_oslo", type: "tool_call" },
      ],
    }),
    new ToolMessage({ id: "m3", content: JSON.stringify({ celsius: 21, sky: "clear" }), tool_call_id: "call_lisbon", name: "weather" }),
    new ToolMessage({ id: "m4", content: "the station is offline", tool_call_id: "call_oslo", name: "weather", status: "error" }),
    new AIMessage({
      id: "m5",
      content: "Lisbon has 21 °C. Oslo's station is offline. Shall I book Lisbon?",
      tool_calls: [{ name: "book", args: { city: "Lisbon", nights: 2 }, id: "call_book", type: "tool_call" }],
    }),
    new ToolMessage({ id: "m6", content: JSON.stringify({ booked: true }), tool_call_id: "call_book", name: "book" }),
    new AIMessage({ id: "m7", content: "Booked. Enjoy Lisbon. 🌞" }),
  ];
}

/** A graph that only keeps messages. */
const graphOf = (checkpointer: ThreadkeepSaver) =>
  new StateGraph(MessagesAnnotation).addNode("keep", () => ({})).addEdge(START, "keep").addEdge("keep", END).compile({ checkpointer });

const configOf = (thread_id: string) => ({ configurable: { thread_id } });

/** Writes the conversation in two runs: the first one ends with the call that waits for a person. */
export async function write(client: Client, sessionId: string): Promise<void> {
  const graph = graphOf(new ThreadkeepSaver(client));
  const messages = conversation();
  for (const some of [messages.slice(0, 5), messages.slice(5)]) await graph.invoke({ messages: some }, configOf(sessionId));
}

/** Reads the state of the graph, and what others wrote. */
export async function read(client: Client, sessionId: string): Promise<Atom[]> {
  const saver = new ThreadkeepSaver(client);
  const { values } = (await graphOf(saver).getState(configOf(sessionId))) as { values: { messages?: BaseMessage[] } };
  return [...(values.messages ?? []), ...(await saver.messagesOfOthers(configOf(sessionId)))].flatMap(atomsOf);
}

const ROLES: Record<string, string> = { human: "user", ai: "assistant", tool: "tool", system: "system" };

function atomsOf(message: BaseMessage): Atom[] {
  const role = ROLES[message.getType()]!;
  if (ToolMessage.isInstance(message)) {
    return [{ role, kind: "result", id: message.tool_call_id, value: message.text, error: message.status === "error" }];
  }
  const content = (typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content) as Block[];
  const calls = AIMessage.isInstance(message) ? (message.tool_calls ?? []) : [];
  return [
    ...content.filter(({ text }) => text !== "").map((block) => atomOf(role, block)),
    ...calls.map(({ id, name, args }): Atom => ({ role, kind: "call", id: id!, name, arguments: args })),
  ];
}

function atomOf(role: string, { type, text, reasoning, mimeType, data }: Block): Atom {
  if (type === "text") return { role, kind: "text", text: text! };
  if (type === "reasoning") return { role, kind: "reasoning", text: reasoning! };
  return { role, kind: "media", mime: mimeType!, data: data! };
}

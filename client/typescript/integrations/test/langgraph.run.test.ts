// Runs of LangGraph with checkpoints in Threadkeep, on a server that is killed.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { Command, END, interrupt, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { connect, newEventId, type Client } from "@threadkeep/client";

import { ThreadkeepSaver } from "../src/langgraph.js";
import { freshClient, KillableServer } from "./support.js";

const configOf = (thread_id: string) => ({ configurable: { thread_id } });

/** Calls the tool once, then answers. */
function model(messages: BaseMessage[]): AIMessage {
  const result = messages.at(-1)!;
  if (ToolMessage.isInstance(result)) return new AIMessage({ id: newEventId(), content: `It is ${result.text}.` });
  return new AIMessage({ id: newEventId(), content: "Let me look.", tool_calls: [{ id: "c1", name: "weather", args: {}, type: "tool_call" }] });
}

/** An agent in two nodes. `duringTool` runs in the node of the tool. */
function agentOf(client: Client, duringTool: () => Promise<string>) {
  const builder = new StateGraph(MessagesAnnotation)
    .addNode("think", ({ messages }) => ({ messages: [model(messages)] }))
    .addNode("act", async () => ({ messages: [new ToolMessage({ id: newEventId(), content: await duringTool(), tool_call_id: "c1", name: "weather" })] }))
    .addEdge(START, "think")
    .addConditionalEdges("think", ({ messages }) => ((messages.at(-1) as AIMessage).tool_calls?.length ? "act" : END), ["act", END])
    .addEdge("act", "think");
  return builder.compile({ checkpointer: new ThreadkeepSaver(client) });
}

async function idsOf(client: Client, thread: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { eventId } of client.session(thread).events({ filter: { branchMatch: "exact" } })) found.push(eventId);
  return found;
}

test("a run resumes after kill -9 of the server in a tool, and stores nothing twice", async (t) => {
  const server = await KillableServer.start(t);
  const impatient = connect({ address: server.address, app: "killed", userId: "ada", retry: false, timeoutMs: 3_000 });
  t.after(() => impatient.close());
  const question = new HumanMessage({ id: "question", content: "How is the weather?" });
  const killed = agentOf(impatient, async () => {
    await pause(500); // LangGraph stores checkpoints while the next nodes run.
    await server.kill();
    return "4 °C";
  });
  await assert.rejects(killed.invoke({ messages: [question] }, configOf("trip")), { name: "ThreadkeepError" });
  await server.start();
  const client = freshClient(server.address, "killed");
  const resumed = agentOf(client, async () => "4 °C");
  const { messages } = await resumed.invoke(null, configOf("trip"));
  assert.deepEqual(messages.map((message) => message.getType()), ["human", "ai", "tool", "ai"]);
  assert.equal(messages.at(-1)!.text, "It is 4 °C.");
  assert.deepEqual(await idsOf(client, "trip"), messages.map(({ id }) => id));
  const again = await resumed.invoke({ messages: [new HumanMessage({ id: "next", content: "And now?" })] }, configOf("trip"));
  assert.equal(again.messages.length, 8);
  assert.deepEqual(await idsOf(client, "trip"), again.messages.map(({ id }) => id));
});

test("a run that is retried while the server restarts ends as if it was not killed", async (t) => {
  const server = await KillableServer.start(t);
  const client = freshClient(server.address, "restarted");
  let restarted: Promise<void> | undefined;
  const agent = agentOf(client, async () => {
    await server.kill();
    restarted = server.start();
    return "4 °C";
  });
  const { messages } = await agent.invoke({ messages: [new HumanMessage({ id: "question", content: "How is it?" })] }, configOf("trip"));
  await restarted;
  assert.equal(messages.length, 4);
  assert.deepEqual(await idsOf(client, "trip"), messages.map(({ id }) => id));
});

test("an interrupted run resumes in another process, after kill -9 of the server", async (t) => {
  const server = await KillableServer.start(t);
  const client = freshClient(server.address, "interrupted");
  const agent = () => agentOf(client, async () => interrupt("Which unit?") as string);
  await agent().invoke({ messages: [new HumanMessage({ id: "question", content: "How is it?" })] }, configOf("trip"));
  await server.kill();
  await server.start();
  const state = await agent().getState(configOf("trip"));
  assert.deepEqual(state.tasks.flatMap(({ interrupts }) => interrupts.map(({ value }) => value as unknown)), ["Which unit?"]);
  const { messages } = await agent().invoke(new Command({ resume: "277 K" }), configOf("trip"));
  assert.equal(messages.at(-1)!.text, "It is 277 K.");
  const history = [];
  for await (const snapshot of agent().getStateHistory(configOf("trip"))) history.push(snapshot.values["messages"]?.length ?? 0);
  assert.deepEqual(history, [4, 3, 2, 1, 0]);
});

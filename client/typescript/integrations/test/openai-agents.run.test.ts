// Runs of @openai/agents with sessions in Threadkeep: its runner, a scripted model, and a server that is killed.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Agent, Runner, RunState, tool, type AgentInputItem, type Model } from "@openai/agents";
import { assistantMessage, functionCall, ScriptedModel } from "@openai/agents-core/testing";
import { newEventId } from "@threadkeep/client";
import { z } from "zod";

import { ThreadkeepSession } from "../src/openai-agents.js";
import { freshClient, KillableServer } from "./support.js";

const runner = new Runner({ tracingDisabled: true });

function weatherAgent(model: Model, execute: () => Promise<string> = async () => "sunny", needsApproval = false) {
  const weather = tool({ name: "weather", description: "Returns the weather.", parameters: z.object({ city: z.string() }), execute, needsApproval });
  return new Agent({ name: "guide", instructions: "Be brief.", model, tools: [weather] });
}

/** Returns what an item is, for comparisons. */
function kindOf(item: AgentInputItem): string {
  if (item.type === "function_call") return `call ${item.callId}`;
  if (item.type === "function_call_result") return `result ${item.callId}`;
  return "role" in item ? item.role : String(item.type);
}

const script = () =>
  new ScriptedModel([[functionCall("weather", { city: "Lisbon" }, { callId: "c1" })], [assistantMessage("It is sunny in Lisbon.")]]);

const TURN = ["user", "call c1", "result c1", "assistant"];

for (const stream of [false, true]) {
  test(`a ${stream ? "streamed " : ""}run stores its items, and the next run gives them to the model`, async () => {
    const client = freshClient();
    const session = new ThreadkeepSession(client, { sessionId: newEventId(), author: "guide" });
    const agent = weatherAgent(script());
    if (stream) await (await runner.run(agent, "How is Lisbon?", { session, stream: true })).completed;
    else await runner.run(agent, "How is Lisbon?", { session });
    assert.deepEqual((await session.getItems()).map(kindOf), TURN);

    const model = new ScriptedModel([[assistantMessage("You are welcome.")]]);
    await runner.run(weatherAgent(model), "Thanks!", { session: new ThreadkeepSession(client, { sessionId: await session.getSessionId() }) });
    assert.deepEqual((model.firstCall!.request.input as AgentInputItem[]).map(kindOf), [...TURN, "user"]);
    assert.deepEqual((await session.getItems()).map(kindOf), [...TURN, "user", "assistant"]);
  });
}

test("a run whose server is killed with kill -9 in a tool ends as if it was not, and stores nothing twice", async (t) => {
  const server = await KillableServer.start(t);
  const session = new ThreadkeepSession(freshClient(server.address), { sessionId: "trip" });
  let restarted: Promise<void> | undefined;
  const agent = weatherAgent(script(), async () => {
    await server.kill();
    restarted = server.start();
    return "sunny";
  });
  const result = await runner.run(agent, "How is Lisbon?", { session });
  await restarted;
  assert.equal(result.finalOutput, "It is sunny in Lisbon.");
  assert.deepEqual((await session.getItems()).map(kindOf), TURN);
});

test("a run that waits for an approval resumes after kill -9 of the server, in another process", async (t) => {
  const server = await KillableServer.start(t);
  const client = freshClient(server.address);
  const first = weatherAgent(script(), undefined, true);
  const waiting = await runner.run(first, "How is Lisbon?", { session: new ThreadkeepSession(client, { sessionId: "trip" }) });
  assert.equal(waiting.interruptions.length, 1);
  const saved = waiting.state.toString();
  await server.kill();
  await server.start();

  const again = weatherAgent(new ScriptedModel([[assistantMessage("It is sunny in Lisbon.")]]), undefined, true);
  const state = await RunState.fromString(again, saved);
  for (const interruption of state.getInterruptions()) state.approve(interruption);
  const session = new ThreadkeepSession(client, { sessionId: "trip" });
  const result = await runner.run(again, state, { session });
  assert.equal(result.finalOutput, "It is sunny in Lisbon.");
  assert.deepEqual((await session.getItems()).map(kindOf), TURN);
});

// Runs of @google/adk with sessions in Threadkeep: its runner, a scripted model, and a server that is killed.

import assert from "node:assert/strict";
import { test } from "node:test";

import { BaseLlm, FunctionTool, LlmAgent, Runner, type BaseLlmConnection, type Event, type LlmRequest, type LlmResponse } from "@google/adk";
import { connect, type Client } from "@threadkeep/client";

import { ThreadkeepSessionService } from "../src/adk.js";
import { freshClient, KillableServer } from "./support.js";

/** Calls the tool once, then answers. */
class ScriptedModel extends BaseLlm {
  readonly requests: LlmRequest[] = [];

  constructor() {
    super({ model: "scripted" });
  }

  async *generateContentAsync(request: LlmRequest): AsyncGenerator<LlmResponse, void> {
    this.requests.push(request);
    const result = request.contents.at(-1)?.parts?.find(({ functionResponse }) => functionResponse)?.functionResponse;
    const parts = result ? [{ text: `It is ${String(result.response?.["result"])}.` }] : [{ functionCall: { id: "c1", name: "weather", args: {} } }];
    yield { content: { role: "model", parts } };
  }

  connect(): Promise<BaseLlmConnection> {
    throw new Error("there is no live connection");
  }
}

function runnerOf(client: Client, execute: () => Promise<string>, model = new ScriptedModel()): Runner {
  const weather = new FunctionTool({ name: "weather", description: "Returns the weather.", execute });
  const agent = new LlmAgent({ name: "guide", model, tools: [weather] });
  return new Runner({ appName: client.app, agent, sessionService: new ThreadkeepSessionService(client) });
}

const KEY = { userId: "ada", sessionId: "trip" };

async function run(runner: Runner, text: string): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of runner.runAsync({ ...KEY, newMessage: { role: "user", parts: [{ text }] } })) events.push(event);
  return events;
}

function kindOf(event: Event): string {
  const [part] = event.content?.parts ?? [];
  return part?.functionCall ? "call" : part?.functionResponse ? "response" : `${event.author}: ${part?.text}`;
}

const TURN = ["user: How is it?", "call", "response", "guide: It is sunny."];

test("a run stores its events, and the next run gives them to the model", async () => {
  const client = freshClient();
  const service = new ThreadkeepSessionService(client);
  await service.createSession({ appName: client.app, ...KEY });
  await run(runnerOf(client, async () => "sunny"), "How is it?");
  assert.deepEqual((await service.getSession({ appName: client.app, ...KEY }))!.events.map(kindOf), TURN);
  const model = new ScriptedModel();
  await run(runnerOf(client, async () => "sunny", model), "Again?");
  assert.equal(model.requests[0]!.contents.length, 5);
  assert.equal((await service.getSession({ appName: client.app, ...KEY }))!.events.length, 8);
});

test("a run whose server is killed with kill -9 in a tool ends as if it was not, and stores nothing twice", async (t) => {
  const server = await KillableServer.start(t);
  const client = freshClient(server.address, "killed");
  const service = new ThreadkeepSessionService(client);
  await service.createSession({ appName: client.app, ...KEY });
  let restarted: Promise<void> | undefined;
  const runner = runnerOf(client, async () => {
    await server.kill();
    restarted = server.start();
    return "sunny";
  });
  await run(runner, "How is it?");
  await restarted;
  assert.deepEqual((await service.getSession({ appName: client.app, ...KEY }))!.events.map(kindOf), TURN);
});

test("a run that ended with kill -9 of its server resumes with the events that are stored, each once", async (t) => {
  const server = await KillableServer.start(t);
  const impatient = connect({ address: server.address, app: "ended", userId: "ada", retry: false, timeoutMs: 3_000 });
  t.after(() => impatient.close());
  await new ThreadkeepSessionService(impatient).createSession({ appName: "ended", ...KEY });
  const killed = runnerOf(impatient, async () => {
    await server.kill();
    return "sunny";
  });
  await assert.rejects(run(killed, "How is it?"), { name: "ThreadkeepError" });
  await server.start();
  const client = freshClient(server.address, "ended");
  const service = new ThreadkeepSessionService(client);
  const stored = (await service.getSession({ appName: "ended", ...KEY }))!;
  assert.deepEqual(stored.events.map(kindOf), TURN.slice(0, 2));
  const response = { role: "user", parts: [{ functionResponse: { id: "c1", name: "weather", response: { result: "sunny" } } }] };
  for await (const _ of runnerOf(client, async () => "sunny").runAsync({ ...KEY, newMessage: response }));
  assert.deepEqual((await service.getSession({ appName: "ended", ...KEY }))!.events.map(kindOf), TURN);
});

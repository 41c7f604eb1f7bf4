// Runs of a Mastra agent.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Worker } from "node:worker_threads";

import type { Client } from "@threadkeep/client";

import { CALL, guide, words } from "./mastraAgent.js";
import { freshClient, KillableServer } from "./support.js";

/** Returns roles and kinds of parts of the events that were stored. */
async function stored(client: Client): Promise<string[]> {
  const found = [];
  const session = client.session({ app: client.app, userId: "alice", sessionId: "trip" });
  for await (const { message } of session.events({ filter: { view: "active" } })) {
    if (message!.parts.length > 0) found.push(`${message!.role} ${message!.parts.map(({ content }) => content.case).join()}`);
  }
  return found;
}

async function killable(context: TestContext) {
  const server = await KillableServer.start(context);
  return { server, client: freshClient(server.address) };
}

test("an agent's runs are stored, and the next run has what was said", async () => {
  const client = freshClient();
  const { run, ran } = guide(client, CALL, words("21 degrees."), words("Take a hat."));
  assert.equal(await run("How is the weather in Lisbon?"), "21 degrees.");
  assert.equal(await run("Do I need a hat?"), "Take a hat.");
  assert.deepEqual(ran.prompts.at(-1), ["system", "user", "assistant", "tool", "assistant", "user"]);
  assert.deepEqual(await stored(client), ["1 text", "2 toolCall", "4 toolResult", "2 text", "1 text", "2 text"]);
});

test("a run continues when the server is killed in the middle and started again; nothing is lost or stored twice", async (context) => {
  const { server, client } = await killable(context);
  const restart = async () => {
    await server.kill();
    void pause(300).then(() => server.start());
  };
  const { run, ran } = guide(client, CALL, [restart, ...words("21 degrees.")]);
  assert.equal(await run("How is the weather in Lisbon?"), "21 degrees.");
  assert.equal(ran.tools, 1);
  assert.deepEqual(await stored(client), ["1 text", "2 toolCall", "4 toolResult", "2 text"]);
});

test("after the application and the server died, a run continues with what the steps before saved", async (context) => {
  const { server, client } = await killable(context);
  const application = new Worker(new URL("mastraAgent.js", import.meta.url), { workerData: { address: server.address, app: client.app } });
  context.after(() => application.terminate());
  while ((await stored(client)).length < 3) await pause(20);
  await application.terminate();
  await server.kill();
  await server.start();
  const second = guide(client, words("21 degrees."));
  assert.equal(await second.run("And?"), "21 degrees.");
  assert.deepEqual([second.ran.tools, second.ran.prompts], [0, [["system", "user", "assistant", "tool", "user"]]]);
  assert.deepEqual(await stored(client), ["1 text", "2 toolCall", "4 toolResult", "1 text", "2 text"]);
});

import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";

import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";

import * as sdk from "../src/node.js";
import { errorInfo, serve, serverError } from "./support.js";

let plans: MessageInitShape<typeof sdk.CompactionPlanSchema>[] = [];
let races = 0;
const applied: sdk.ApplyCompactionRequest[] = [];

const server = await serve((router) =>
  router.service(sdk.CompactionService, {
    planCompaction: () => ({ plan: plans.length > 1 ? plans.shift() : plans[0], windowVersion: 4n }),
    applyCompaction(request) {
      applied.push(request);
      if (races-- > 0) throw serverError(Code.Aborted, errorInfo("VERSION_MISMATCH"));
      return { applied: true };
    },
  }),
);
const client = sdk.connect({ address: server.address, app: "a", userId: "u" });
after(async () => {
  client.close();
  await server.close();
});
beforeEach(() => {
  applied.length = 0;
  races = 0;
});

/** A plan of a recursive summary: the user's shadow prompt, and the assistant's event that waits for the text. */
const summary = (digest: string): MessageInitShape<typeof sdk.CompactionPlanSchema> => ({
  archiveEventIds: ["e1", "e2"],
  inserts: [{ beforeEventId: "e3", events: [sdk.user("What came before?"), sdk.assistant("")] }],
  summaryPrompt: { prompt: "Summarise", digest },
  strategy: "recursive_summary",
  branch: "b",
});

test("the summary is asked for once, put into the plan's empty event, and applied where the plan was made", async () => {
  plans = [summary("d1")];
  const prompts: string[] = [];
  const response = await client.compactWith("s", (prompt) => (prompts.push(prompt.prompt), "In short."), { actor: "me" });
  assert.equal(response!.applied, true);
  assert.deepEqual(prompts, ["Summarise"]);
  const [request] = applied;
  assert.deepEqual(request!.inserts[0]!.events.map(sdk.textOf), ["What came before?", "In short."]);
  assert.equal(request!.inserts[0]!.beforeEventId, "e3");
  assert.deepEqual((request!.archive.value as sdk.EventIds).ids, ["e1", "e2"]);
  assert.deepEqual([request!.expectedWindowVersion, request!.branch, request!.strategy, request!.actor], [4n, "b", "recursive_summary", "me"]);
  assert.match(request!.compactionId, /^[0-9a-f-]{36}$/);
});

test("a lost race is planned anew, and the same prompt not asked again", async () => {
  plans = [summary("d1"), summary("d1"), summary("d2")];
  races = 2;
  let answers = 0;
  await client.compactWith("s", async () => `answer ${++answers}`);
  assert.deepEqual(applied.map((request) => sdk.textOf(request.inserts[0]!.events[1]!)), ["answer 1", "answer 1", "answer 2"]);
  assert.equal(new Set(applied.map((request) => request.compactionId)).size, 3);
});

test("races are lost at most five times", async () => {
  plans = [summary("d1")];
  races = 9;
  await assert.rejects(client.compactWith("s", () => "text"), (error) => sdk.isReason(error, "VERSION_MISMATCH"));
  assert.equal(applied.length, 5);
});

test("nothing to do is undefined, and nobody is asked", async () => {
  plans = [{}];
  assert.equal(await client.compactWith("s", () => assert.fail("asked")), undefined);
  plans = [{ archiveEventIds: ["e1"] }];
  assert.equal((await client.compactWith("s", () => assert.fail("asked")))!.applied, true, "a plan without a prompt is applied");
});

test("a blank answer and a failing model leave the session as it was", async () => {
  plans = [summary("d1")];
  await assert.rejects(client.compactWith("s", () => "  "), /the summary is blank/);
  await assert.rejects(client.compactWith("s", () => Promise.reject(new Error("no model"))), /no model/);
  assert.equal(applied.length, 0);
});

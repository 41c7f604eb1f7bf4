import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";

import * as sdk from "../src/node.js";
import * as pb from "../src/v1.js";
import { errorInfo, serve, serverError } from "./support.js";

let plans: MessageInitShape<typeof pb.CompactionPlanSchema>[] = [];
let races = 0;
const applied: pb.ApplyCompactionRequest[] = [];

const server = await serve((router) =>
  router.service(pb.CompactionService, {
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

/** Returns a plan of a recursive summary: the user's shadow prompt and the empty assistant event. */
const summary = (digest: string): MessageInitShape<typeof pb.CompactionPlanSchema> => ({
  archiveEventIds: ["e1", "e2"],
  inserts: [{ beforeEventId: "e3", events: [sdk.user("What came before?"), sdk.assistant("")] }],
  summaryPrompt: { prompt: "Summarize", digest },
  strategy: "recursive_summary",
  branch: "b",
});

test("compactWith summarizes once, fills the empty event of the plan, and applies it", async () => {
  plans = [summary("d1")];
  const prompts: string[] = [];
  const response = await client.session("s").compactWith((prompt) => (prompts.push(prompt.prompt), "In short."), { actor: "me" });
  assert.equal(response!.applied, true);
  assert.deepEqual(prompts, ["Summarize"]);
  const [request] = applied;
  assert.deepEqual(request!.inserts[0]!.events.map(sdk.textOf), ["What came before?", "In short."]);
  assert.equal(request!.inserts[0]!.beforeEventId, "e3");
  assert.deepEqual((request!.archive.value as pb.EventIds).ids, ["e1", "e2"]);
  assert.deepEqual([request!.expectedWindowVersion, request!.branch, request!.strategy, request!.actor], [4n, "b", "recursive_summary", "me"]);
  assert.match(request!.compactionId, /^[0-9a-f-]{36}$/);
});

test("a lost race is planned again without summarizing twice", async () => {
  plans = [summary("d1"), summary("d1"), summary("d2")];
  races = 2;
  let answers = 0;
  await client.session("s").compactWith(async () => `answer ${++answers}`);
  assert.deepEqual(applied.map((request) => sdk.textOf(request.inserts[0]!.events[1]!)), ["answer 1", "answer 1", "answer 2"]);
  assert.equal(new Set(applied.map((request) => request.compactionId)).size, 3);
});

test("five lost races are an error", async () => {
  plans = [summary("d1")];
  races = 9;
  await assert.rejects(client.session("s").compactWith(() => "text"), (error) => sdk.isReason(error, "VERSION_MISMATCH"));
  assert.equal(applied.length, 5);
});

test("nothing to compact returns undefined without a summary", async () => {
  plans = [{}];
  assert.equal(await client.session("s").compactWith(() => assert.fail("called")), undefined);
  plans = [{ archiveEventIds: ["e1"] }];
  assert.equal((await client.session("s").compactWith(() => assert.fail("called")))!.applied, true, "a plan without a prompt is applied");
});

test("a blank summary and a failing model leave the session unchanged", async () => {
  plans = [summary("d1")];
  await assert.rejects(client.session("s").compactWith(() => "  "), /the summary is blank/);
  await assert.rejects(client.session("s").compactWith(() => Promise.reject(new Error("no model"))), /no model/);
  assert.equal(applied.length, 0);
});

const seen = create(pb.GetContextResponseSchema, { firstSeq: 3n, sessionLastSeq: 9n, compactableThroughSeq: 6n, windowVersion: 4n });

test("a summary of a context replaces exactly its events", async () => {
  assert.equal((await client.session("s").compactContext(seen, "In short.", { actor: "me" })).applied, true);
  const [request] = applied;
  assert.deepEqual([request!.fromSeq, request!.archive, request!.expectedWindowVersion], [3n, { case: "throughSeq", value: 6n }, 4n]);
  assert.deepEqual([request!.session!.sessionId, request!.session!.userId, request!.actor], ["s", "u", "me"]);
  assert.match(request!.compactionId, /^[0-9a-f-]{36}$/);
  const [insert] = request!.inserts;
  assert.deepEqual(insert!.events.map(sdk.textOf), ["Summarize the conversation we had so far.", "In short."]);
  assert.deepEqual(insert!.events.map(({ message }) => message!.role), [sdk.Role.USER, sdk.Role.ASSISTANT]);
  assert.ok(insert!.events.every((event) => event.synthetic && event.compactionSource === "summary"));
});

test("events in place of a summary keep their content and are synthetic, and an empty list only archives", async () => {
  await client.session("s").compactContext(seen, [sdk.user("Who?", { compactionSource: "mine", eventId: "e" }), sdk.assistant("Ada.")], { compactionId: "c1" });
  await client.session("s").compactContext(seen, []);
  const [named, bare] = applied;
  assert.deepEqual(named!.inserts[0]!.events.map((event) => [event.eventId, event.synthetic, event.compactionSource]), [["e", true, "mine"], ["", true, "summary"]]);
  assert.deepEqual([named!.compactionId, bare!.inserts], ["c1", []]);
});

test("a context without replaceable events and a blank summary are rejected", async () => {
  const nothing = { ...seen, compactableThroughSeq: 0n };
  await assert.rejects(client.session("s").compactContext(nothing, "In short."), { name: "ThreadkeepError", reason: "NOTHING_TO_COMPACT", message: /no event of this context may be archived/ });
  await assert.rejects(client.session("s").compactContext(seen, " \n"), /the summary is blank/);
  assert.equal(applied.length, 0);
});

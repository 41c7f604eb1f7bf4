// The calls of a session handle, as they arrive at the server.

import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";

import type { Message } from "@bufbuild/protobuf";

import * as sdk from "../src/node.js";
import * as pb from "../src/v1.js";
import { serve } from "./support.js";

const requested: Message[] = [];
const keep = <R extends object>(response: R) => (request: Message) => (requested.push(request), response);
const session = { ref: { sessionId: "made" }, etag: "e2" };
const server = await serve((router) => {
  router.service(pb.SessionService, {
    createSession: keep({ session, created: true }),
    getSession: keep({ session }),
    updateSession: keep({ session }),
    deleteSession: keep({ deleted: true, deletedMemories: 2n }),
    listSessions: (request) => (requested.push(request), { sessions: [{ uid: request.pageToken || "first" }], nextPageToken: request.pageToken ? "" : "second" }),
  });
  router.service(pb.EventService, { appendEvents: keep({ logVersion: 1n }), getContext: keep({ windowVersion: 4n }), getEvent: keep({ event: { eventId: "e1" } }), listEvents: keep({ logVersion: 7n, nextPageToken: "n" }) });
  router.service(pb.CompactionService, {
    applyCompaction: keep({ applied: true }),
    replaceEvents: keep({ replaced: true }),
    setCompactionPolicy: keep({}),
    getCompactionPolicy: keep({ policy: { disabled: true } }),
  });
  router.service(pb.ToolService, { callTool: keep({ resultJson: "{}" }), listTools: keep({ tools: [{ name: "load_memory", declared: true }] }) });
  router.service(pb.ServerService, { getServerInfo: keep({ version: "1" }) });
});
const lines: string[] = [];
const logger = { debug: (line: string) => void lines.push(line), warn: (line: string) => void lines.push(line) };
const client = sdk.connect({ address: server.address, app: "shop", userId: "alice", logger });
const trip = client.session("trip");
after(() => (client.close(), server.close()));
beforeEach(() => (requested.length = lines.length = 0));
const last = <M extends Message>() => requested.at(-1) as M;

test("a session is created with all of its properties", async () => {
  const properties = { labels: { team: "eu" }, metadata: { a: [1] }, contextBytes: 9, createTime: new Date(5000), returnExisting: true };
  const { created, session: made } = await trip.create({ ...properties, ttlMs: 1500 });
  assert.deepEqual([created, made!.ref!.sessionId], [true, "made"]);
  const request = last<pb.CreateSessionRequest>();
  assert.deepEqual([request.session!.userId, request.session!.sessionId, request.labels, request.metadataJson], ["alice", "trip", { team: "eu" }, '{"a":[1]}']);
  const expiry = request.expiry!.kind as { value: { seconds: bigint; nanos: number } };
  assert.deepEqual([expiry.value.seconds, expiry.value.nanos, request.contextBytes, request.createTime!.seconds, request.returnExisting], [1n, 500_000_000, 9n, 5n, true]);
  await client.session().create({ neverExpires: true });
  assert.deepEqual([last<pb.CreateSessionRequest>().session!.sessionId, last<pb.CreateSessionRequest>().expiry!.kind.case], ["", "neverExpires"]);
  assert.throws(() => trip.create({ ttlMs: 1, neverExpires: true }), /at most one of ttlMs/);
});

test("an update has a mask of what is replaced, and patches without one", async () => {
  assert.equal((await trip.update({ labels: {}, metadata: "", contextBytes: 0, neverExpires: true })).etag, "e2");
  assert.deepEqual(last<pb.UpdateSessionRequest>().updateMask!.paths, ["expiry", "metadata_json", "labels", "context_bytes"]);
  await trip.update({ metadataPatch: { a: null }, setLabels: { b: "c" }, removeLabels: ["d"], etag: "e1" });
  const { updateMask, metadataPatchJson, setLabels, removeLabels, etag } = last<pb.UpdateSessionRequest>();
  assert.deepEqual([updateMask, metadataPatchJson, setLabels, removeLabels, etag], [undefined, '{"a":null}', { b: "c" }, ["d"], "e1"]);
});

test("get and delete are of the session", async () => {
  assert.equal((await client.session({ app: "bank", userId: "bob", sessionId: "s" }).get()).etag, "e2");
  assert.deepEqual([last<pb.GetSessionRequest>().session!.app, last<pb.GetSessionRequest>().session!.userId], ["bank", "bob"]);
  assert.equal((await trip.delete({ purgeMemories: true })).deletedMemories, 2n);
  assert.equal(last<pb.DeleteSessionRequest>().purgeMemories, true);
});

test("a noun iterates over all, and its page has a token", async () => {
  const uids = [];
  for await (const { uid } of client.sessions({ pageSize: 1, labels: { team: "eu" } })) uids.push(uid);
  assert.deepEqual([uids, (await client.sessionsPage()).nextPageToken], [["first", "second"], "second"]);
  const page = await trip.eventsPage({ order: "desc", filter: { roles: ["user"] }, pageToken: "t" });
  assert.deepEqual([page.logVersion, page.nextPageToken], [7n, "n"]);
  const { order, filter, pageToken } = last<pb.ListEventsRequest>();
  assert.deepEqual([order, filter!.roles, pageToken], [pb.SortOrder.DESCENDING, [sdk.Role.USER], "t"]);
});

test("a precondition is the version or the last event", async () => {
  await trip.append(sdk.user("hi"), { expect: { logVersion: 0 } });
  assert.deepEqual(last<pb.AppendEventsRequest>().precondition, { case: "expectedLogVersion", value: 0n });
  await trip.append(sdk.user("hi"), { expect: { lastEventId: "" }, createIfMissing: { labels: { a: "b" }, ttlMs: 1000 } });
  const { precondition, createIfMissing } = last<pb.AppendEventsRequest>();
  assert.deepEqual([precondition, createIfMissing!.labels, createIfMissing!.expiry!.kind.case], [{ case: "expectedLastEventId", value: "" }, { a: "b" }, "ttl"]);
});

test("a handle that does not write drops appends and says so", async () => {
  for (const provider of [sdk.MemoryProvider.readOnly(), sdk.MemoryProvider.none()]) {
    const critic = trip.withMemory(provider);
    const { dropped, events } = await critic.append(sdk.user("no"));
    const results = [];
    for await (const result of critic.appendStream([sdk.user("no"), [sdk.user("no")]])) results.push([result.index, result.dropped]);
    assert.deepEqual([dropped, events, results], [true, [], [[0, true], [1, true]]]);
  }
  assert.equal(requested.length, 0);
  assert.match(lines[0]!, /an append to trip is dropped/);
  const { dropped } = await trip.withMemory(sdk.MemoryProvider.writeOnly()).append(sdk.user("yes"));
  assert.deepEqual([dropped, requested.length], [false, 1]);
});

test("a context is that of the handle's provider unless another spec is given", async () => {
  const planner = trip.withMemory(sdk.MemoryProvider.limitedWindow().maxTurns(3));
  await planner.getContext();
  assert.equal(last<pb.GetContextRequest>().spec!.maxTurns, 3);
  await planner.getContext({ maxTurns: 5 });
  assert.equal(last<pb.GetContextRequest>().spec!.maxTurns, 5);
  await trip.getContext();
  assert.equal(last<pb.GetContextRequest>().spec, undefined);
});

test("one event is returned by its id, and events are replaced at a version", async () => {
  assert.equal((await trip.getEvent("e1")).eventId, "e1");
  await trip.replaceEvents([sdk.user("a")], { expect: { logVersion: 3 }, actor: "me" });
  const { expectedLogVersion, events, actor } = last<pb.ReplaceEventsRequest>();
  assert.deepEqual([expectedLogVersion, actor, events[0]!.eventId.length], [3n, "me", 36]);
});

test("a compaction archives what is given, and leaves the caller's plan as it is", async () => {
  const request = async (...given: Parameters<sdk.SessionHandle["applyCompaction"]>) => (await trip.applyCompaction(...given), last<pb.ApplyCompactionRequest>());
  const bySeq = await request({ windowVersion: 2, archive: { fromSeq: 3, throughSeq: 9 } }, { expectedLogVersion: 5, compactionId: "c" });
  assert.deepEqual([bySeq.archive, bySeq.fromSeq, bySeq.expectedWindowVersion, bySeq.expectedLogVersion, bySeq.compactionId], [{ case: "throughSeq", value: 9n }, 3n, 2n, 5n, "c"]);
  const byIds = await request({ windowVersion: 2, archive: { ids: ["e1"] } });
  assert.deepEqual((byIds.archive.value as pb.EventIds).ids, ["e1"]);
  const plan = { plan: { archiveEventIds: ["e1"], inserts: [{ events: [sdk.assistant("")] }], summaryPrompt: { digest: "d" } }, windowVersion: 4n };
  const { create } = await import("@bufbuild/protobuf");
  const planned = create(pb.PlanCompactionResponseSchema, plan);
  for (const summary of ["one", "two"]) {
    assert.equal(sdk.textOf((await request({ plan: planned, summary })).inserts[0]!.events[0]), summary);
  }
  await assert.rejects(trip.applyCompaction({ plan: planned }), /the summary is blank/);
});

test("policies are of their scope", async () => {
  const scopes = async (handle: sdk.PolicyHandle) => {
    await handle.set(sdk.policy(sdk.anyOf(sdk.turnsOver(50), sdk.tokensAtLeast(9)), sdk.pipeline(sdk.trimToolResults({ keepTurns: 0 }), sdk.recursiveSummary({ keep: 4 }))));
    const set = last<pb.SetCompactionPolicyRequest>();
    assert.deepEqual([set.policy!.trigger!.kind.case, set.policy!.strategy!.kind.case], ["anyOf", "pipeline"]);
    assert.equal((await handle.get()).policy!.disabled, true);
    await handle.remove();
    assert.equal(last<pb.SetCompactionPolicyRequest>().policy, undefined);
    return last<pb.SetCompactionPolicyRequest>().scope!.kind;
  };
  assert.equal(((await scopes(trip.policy())).value as sdk.SessionRef).sessionId, "trip");
  const users = (await scopes(client.userPolicy())).value as pb.UserPolicyScope;
  assert.deepEqual([users.userId, users.app], ["alice", "shop"]);
  assert.equal(((await scopes(client.userPolicy({ anyApp: true }))).value as pb.UserPolicyScope).app, undefined);
  assert.deepEqual([await scopes(client.appPolicy()), await scopes(client.serverPolicy())], [{ case: "app", value: "shop" }, { case: "server", value: true }]);
});

test("tools and the server's description", async () => {
  assert.deepEqual((await client.tools()).map(({ name }) => name), ["load_memory"]);
  await trip.callTool("load_memory", { query: "tea" });
  const { session: whose, name, argumentsJson } = last<pb.CallToolRequest>();
  assert.deepEqual([whose!.sessionId, name, argumentsJson], ["trip", "load_memory", '{"query":"tea"}']);
  await trip.callTool("load_memory", "{ }");
  assert.equal(last<pb.CallToolRequest>().argumentsJson, "{ }");
  assert.equal((await client.info({ totals: true })).version, "1");
  assert.equal(last<pb.GetServerInfoRequest>().includeTotals, true);
});

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
const states: { state: { values: Record<string, string>; version: bigint }; nextKey?: string }[] = [];
const server = await serve((router) => {
  router.service(pb.SessionService, {
    createSession: keep({ session, created: true }),
    getSession: keep({ session }),
    updateSession: keep({ session }),
    deleteSession: keep({ deleted: true, deletedMemories: 2n }),
    forkSession: keep({ session, replayed: false }),
    moveSession: keep({ session, replayed: true }),
    listUsers: (request) => (requested.push(request), { users: [{ userId: request.pageToken || "first" }], nextPageToken: request.pageToken ? "" : "second" }),
    listSessions: (request) => (requested.push(request), { sessions: [{ uid: request.pageToken || "first" }], nextPageToken: request.pageToken ? "" : "second" }),
  });
  router.service(pb.EventService, {
    appendEvents: keep({ logVersion: 1n }),
    getContext: keep({ windowVersion: 4n }),
    getEvent: keep({ event: { eventId: "e1" } }),
    listEvents: keep({ logVersion: 7n, nextPageToken: "n" }),
    listUserEvents: (request) => (requested.push(request), { events: [{ event: { eventId: request.pageToken || "first" } }], nextPageToken: request.pageToken ? "" : "second" }),
    popEvents: keep({ events: [{ eventId: "e2" }] }),
    clearEvents: keep({ removed: 2n }),
    eraseEvents: keep({ erased: 1n }),
    replaceSuffix: keep({ removed: 1n }),
    rewindSession: keep({ restored: 2n }),
    loadSession: keep({ session, state: { session: { version: 3n } } }),
    listBranches: keep({ branches: [{ name: "" }, { name: "a" }] }),
    listUsage: keep({ entries: [{ turnSeq: 1n }] }),
  });
  router.service(pb.StateService, { getState: (request) => (requested.push(request), states.shift() ?? {}), patchState: keep({ version: 3n }) });
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
  await trip.create({ parent: { session: { sessionId: "origin" }, uid: "u", atSeq: 2n } });
  const { parent } = last<pb.CreateSessionRequest>();
  assert.deepEqual([parent!.session!.sessionId, parent!.uid, parent!.atSeq, parent!.atLogVersion], ["origin", "u", 2n, 0n]);
  await client.session().create({ neverExpires: true });
  assert.deepEqual([last<pb.CreateSessionRequest>().session!.sessionId, last<pb.CreateSessionRequest>().expiry!.kind.case], ["", "neverExpires"]);
  assert.throws(() => trip.create({ ttlMs: 1, neverExpires: true }), /at most one of ttlMs/);
});

test("an update has a mask of what is replaced, and patches without one", async () => {
  assert.equal((await trip.update({ labels: {}, metadata: "", contextBytes: 0, neverExpires: true })).etag, "e2");
  assert.deepEqual(last<pb.UpdateSessionRequest>().updateMask!.paths, ["expiry", "metadata_json", "labels", "context_bytes"]);
  await trip.update({ metadataPatch: { a: null }, setLabels: { b: "c" }, removeLabels: ["d"], etag: "e1", operationId: "u1" });
  const { updateMask, metadataPatchJson, setLabels, removeLabels, etag, operationId } = last<pb.UpdateSessionRequest>();
  assert.deepEqual([updateMask, metadataPatchJson, setLabels, removeLabels, etag, operationId], [undefined, '{"a":null}', { b: "c" }, ["d"], "e1", "u1"]);
});

test("get and delete are of the session", async () => {
  assert.equal((await client.session({ app: "bank", userId: "bob", sessionId: "s" }).get()).etag, "e2");
  assert.deepEqual([last<pb.GetSessionRequest>().session!.app, last<pb.GetSessionRequest>().session!.userId], ["bank", "bob"]);
  assert.equal((await trip.delete({ purgeMemories: true, uid: "u1" })).deletedMemories, 2n);
  assert.deepEqual([last<pb.DeleteSessionRequest>().purgeMemories, last<pb.DeleteSessionRequest>().uid], [true, "u1"]);
});

test("a noun iterates over all, and its page has a token", async () => {
  const uids = [];
  for await (const { uid } of client.sessions({ pageSize: 1, labels: { team: "eu" } })) uids.push(uid);
  assert.deepEqual([uids, (await client.sessionsPage()).nextPageToken], [["first", "second"], "second"]);
  await client.sessionsPage({ withState: true, forkedFrom: "trip" });
  const { withState, forkedFrom, userId } = last<pb.ListSessionsRequest>();
  assert.deepEqual([withState, forkedFrom, userId], [true, "trip", "alice"]);
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

test("a removal has an operation id of its own unless one is given", async () => {
  assert.equal((await trip.pop()).events[0]!.eventId, "e2");
  const popped = last<pb.PopEventsRequest>();
  assert.deepEqual([popped.session!.sessionId, popped.count, popped.branch, popped.mode, popped.operationId.length], ["trip", 1, undefined, pb.RemovalMode.UNSPECIFIED, 36]);
  await trip.pop(2, { branch: "", erase: true, expect: { logVersion: 3 }, operationId: "p1" });
  const { count, branch, mode, expectedLogVersion, operationId } = last<pb.PopEventsRequest>();
  assert.deepEqual([count, branch, mode, expectedLogVersion, operationId], [2, "", pb.RemovalMode.ERASE, 3n, "p1"]);
  assert.equal((await trip.clear({ expect: { logVersion: 4 } })).removed, 2n);
  assert.deepEqual([last<pb.ClearEventsRequest>().expectedLogVersion, last<pb.ClearEventsRequest>().operationId.length], [4n, 36]);
  await trip.eraseEvents(["e1"], { operationId: "x1" });
  assert.deepEqual([last<pb.EraseEventsRequest>().eventIds, last<pb.EraseEventsRequest>().operationId], [["e1"], "x1"]);
  await trip.replaceSuffix(["e2"], [sdk.user("new")], { branch: "a" });
  const suffix = last<pb.ReplaceSuffixRequest>();
  assert.deepEqual([suffix.expectedEventIds, suffix.events[0]!.eventId.length, suffix.branch, suffix.operationId.length], [["e2"], 36, "a", 36]);
});

test("events of invocations or of a branch are erased, and a text is no list of ids", async () => {
  await trip.eraseEvents({ invocationIds: ["i1"] }, { expect: { logVersion: 3 } });
  const { eventIds, invocationIds, branch, expectedLogVersion } = last<pb.EraseEventsRequest>();
  assert.deepEqual([eventIds, invocationIds, branch, expectedLogVersion], [[], ["i1"], "", 3n]);
  await trip.eraseEvents({ branch: "a" });
  assert.deepEqual([last<pb.EraseEventsRequest>().invocationIds, last<pb.EraseEventsRequest>().branch], [[], "a"]);
  await assert.rejects(async () => trip.eraseEvents("e1" as never), TypeError);
});

test("a fork copies the present unless a point and other properties are given", async () => {
  assert.equal((await trip.fork()).session!.ref!.sessionId, "made");
  const plain = last<pb.ForkSessionRequest>();
  const { newSessionId, point, expiry, metadataJson, withoutParentLabels, contextBytes, operationId } = plain;
  assert.deepEqual([newSessionId, point.case, expiry, metadataJson, withoutParentLabels, contextBytes], ["", undefined, undefined, undefined, false, undefined]);
  assert.deepEqual([plain.session!.sessionId, operationId.length], ["trip", 36]);
  await trip.fork("again", { at: { invocationId: "i1" }, ttlMs: 1500, metadata: "", labels: { kind: "retry" }, inheritLabels: false, contextBytes: 0, operationId: "f1" });
  const request = last<pb.ForkSessionRequest>();
  assert.deepEqual([request.newSessionId, request.point, request.expiry!.kind.case, request.metadataJson], ["again", { case: "atInvocationId", value: "i1" }, "ttl", ""]);
  assert.deepEqual([request.labels, request.withoutParentLabels, request.contextBytes, request.operationId], [{ kind: "retry" }, true, 0n, "f1"]);
});

test("a session is given to another user", async () => {
  assert.equal((await trip.move("bob")).replayed, true);
  const { session: moved, newUserId, operationId } = last<pb.MoveSessionRequest>();
  assert.deepEqual([moved!.sessionId, moved!.userId, newUserId, operationId.length], ["trip", "alice", "bob", 36]);
  await trip.move("bob", { operationId: "m1" });
  assert.equal(last<pb.MoveSessionRequest>().operationId, "m1");
});

test("a rewind goes to one point", async () => {
  const points: [sdk.Point, string, unknown][] = [[{ seq: 2 }, "atSeq", 2n], [{ eventId: "e2" }, "atEventId", "e2"], [{ invocationId: "i1" }, "atInvocationId", "i1"], [{ logVersion: 3n }, "atLogVersion", 3n]];
  for (const [to, name, value] of points) {
    assert.equal((await trip.rewind(to)).restored, 2n);
    assert.deepEqual([last<pb.RewindSessionRequest>().point, last<pb.RewindSessionRequest>().operationId.length], [{ case: name, value }, 36]);
  }
  await trip.rewind({ seq: 2 }, { erase: true, always: true, expect: { logVersion: 9 }, operationId: "r1" });
  const { mode, expectedLogVersion, operationId, always } = last<pb.RewindSessionRequest>();
  assert.deepEqual([mode, expectedLogVersion, operationId, always], [pb.RemovalMode.ERASE, 9n, "r1", true]);
  await assert.rejects(async () => trip.rewind({ seq: 2, logVersion: 3 } as never), /a point is one of/);
});

test("an append replaces events, has an operation id, and changes state", async () => {
  await trip.append(sdk.user("hi", { eventId: "e1" }), { ifExists: "replace", eraseReplaced: true, operationId: "a1" });
  const { ifExists, replaced, operationId, stateDelta } = last<pb.AppendEventsRequest>();
  assert.deepEqual([ifExists, replaced, operationId, stateDelta], [pb.IfExists.REPLACE, pb.RemovalMode.ERASE, "a1", undefined]);
  await trip.append(sdk.user("hi"), { createIfMissing: { state: { seat: "window" } }, state: { set: { cart: 3 }, remove: ["draft"] }, appState: { setJson: { n: "1e400" } } });
  const request = last<pb.AppendEventsRequest>();
  const { session: changed, user, app } = request.stateDelta!;
  assert.deepEqual([request.createIfMissing!.state, changed!.set, changed!.remove, user, app!.set], [{ seat: '"window"' }, { cart: "3" }, ["draft"], undefined, { n: "1e400" }]);
  await trip.create({ state: { a: [1] } });
  assert.deepEqual(last<pb.CreateSessionRequest>().state, { a: "[1]" });
});

test("a session is loaded as a whole, and its branches and usage are listed", async () => {
  assert.equal((await trip.load({ context: true, stateScopes: ["session", "app"], withNewestEvent: true })).state!.session!.version, 3n);
  const loaded = last<pb.LoadSessionRequest>();
  assert.deepEqual([loaded.session!.sessionId, loaded.spec?.$typeName, loaded.stateScopes, loaded.withNewestEvent], ["trip", "threadkeep.v1.ContextSpec", [pb.StateScope.SESSION, pb.StateScope.APP], true]);
  await trip.load({ filter: { lastN: 2 }, order: "desc" });
  assert.deepEqual([last<pb.LoadSessionRequest>().spec, last<pb.LoadSessionRequest>().order, last<pb.LoadSessionRequest>().filter!.limit.value], [undefined, pb.SortOrder.DESCENDING, 2]);
  const names = [];
  for await (const { name } of trip.branches()) names.push(name);
  const turns = [];
  for await (const { turnSeq } of trip.usage({ branch: "", afterSeq: 0, beforeSeq: 9 })) turns.push(turnSeq);
  const { branch, afterSeq, beforeSeq } = last<pb.ListUsageRequest>();
  assert.deepEqual([names, turns, branch, afterSeq, beforeSeq], [["", "a"], [1n], "", 0n, 9n]);
});

test("a state is of one version, although others change it between two pages", async () => {
  states.push({ state: { values: { a: "1" }, version: 1n }, nextKey: "a" }, { state: { values: { b: "2" }, version: 2n } });
  states.push({ state: { values: { a: "3", b: "9007199254740993" }, version: 2n }, nextKey: "b" }, { state: { values: { c: "null" }, version: 2n } });
  const state = await trip.state().get({ keys: ["a", "b", "c"] });
  assert.deepEqual(state, { values: { a: 3, b: 9007199254740992, c: null }, texts: { a: "3", b: "9007199254740993", c: "null" }, version: 2 });
  assert.deepEqual(requested.map((request) => (request as pb.GetStateRequest).afterKey), ["", "a", "", "b"]);
  states.push({ state: { values: { a: "1" }, version: 5n }, nextKey: "a" }, { state: { values: { b: "2" }, version: 6n } });
  assert.deepEqual((await trip.state().get({ keyPrefix: "k", asOfLogVersion: 0 })).values, { a: 1, b: 2 });
  assert.deepEqual([last<pb.GetStateRequest>().keyPrefix, last<pb.GetStateRequest>().asOfLogVersion], ["k", 0n]);
});

test("a patch is of its scope, and its values are JSON", async () => {
  assert.equal(await trip.state().patch({ cart: { items: 3 }, gift: null }, { remove: ["draft"], setJson: { n: "1e400" }, expect: { version: 0 } }), 3);
  const { scope, session: whose, patch, expectedVersion } = last<pb.PatchStateRequest>();
  assert.deepEqual([scope, whose!.sessionId, expectedVersion], [pb.StateScope.SESSION, "trip", 0n]);
  assert.deepEqual([patch!.set, patch!.remove], [{ cart: '{"items":3}', gift: "null", n: "1e400" }, ["draft"]]);
  await assert.rejects(trip.state().patch({ f: () => 1 }), /the value of "f" has no JSON form/);
  const scopes = [client.userState(), client.userState({ app: "", userId: "bob" }), client.appState(), client.appState("bank")];
  for (const handle of scopes) await handle.get();
  const asked = requested.slice(-4).map((request) => request as pb.GetStateRequest);
  assert.deepEqual(asked.map(({ scope }) => scope), [pb.StateScope.USER, pb.StateScope.USER, pb.StateScope.APP, pb.StateScope.APP]);
  assert.deepEqual(asked.map(({ session: ref }) => [ref!.app, ref!.userId]), [["shop", "alice"], ["", "bob"], ["shop", ""], ["bank", ""]]);
});

test("the events of a user are those of the client's unless another is named", async () => {
  const ids = [];
  for await (const { event } of client.userEvents({ filter: { roles: ["user"] } })) ids.push(event!.eventId);
  const { userId, app, filter } = last<pb.ListUserEventsRequest>();
  assert.deepEqual([ids, userId, app, filter!.roles], [["first", "second"], "alice", "shop", [sdk.Role.USER]]);
  await client.userEventsPage({ userId: "bob", anyApp: true, pageSize: 5 });
  assert.deepEqual([last<pb.ListUserEventsRequest>().userId, last<pb.ListUserEventsRequest>().app, last<pb.ListUserEventsRequest>().pageSize], ["bob", undefined, 5]);
});

test("users are those of the client's app unless another or all are named", async () => {
  const ids = [];
  for await (const { userId } of client.users({ pageSize: 1 })) ids.push(userId);
  assert.deepEqual([ids, last<pb.ListUsersRequest>().app, last<pb.ListUsersRequest>().pageSize], [["first", "second"], "shop", 1]);
  const appOf = async (query: sdk.UsersQuery) => (await client.usersPage(query), last<pb.ListUsersRequest>().app);
  assert.deepEqual([await appOf({ app: "" }), await appOf({ anyApp: true }), await appOf({ app: "desk", anyApp: true })], ["", undefined, "desk"]);
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

test("strategies that are planned elsewhere have a name", () => {
  const kinds = [sdk.webhook("summaries"), sdk.compactedBy("compactor")].map(({ kind }) => [kind.case, (kind.value as pb.WebhookStrategy).name]);
  assert.deepEqual(kinds, [["webhook", "summaries"], ["consumer", "compactor"]]);
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

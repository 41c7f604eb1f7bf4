// The clients of these tests have the app "shop" and the user "alice".

import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";

import type { Message } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";

import * as sdk from "../src/node.js";
import * as pb from "../src/v1.js";
import { serve, serverError } from "./support.js";

const requested: Message[] = [];
let left = 0;
const server = await serve((router) => {
  router.service(pb.SessionService, {
    listSessions: (request) => (requested.push(request), {}),
    deleteUser: (request) => (requested.push(request), { receipt: {} }),
    deleteByLabel: (request) => (requested.push(request), { receipt: { deletedSessions: BigInt(left) }, more: left-- > 0 }),
    deleteExpiredSessions: (request) => (requested.push(request), { deletedSessions: 2n }),
  });
  router.service(pb.SearchService, { searchEvents: (request) => (requested.push(request), {}) });
  router.service(pb.MemoryService, { searchMemory: (request) => (requested.push(request), {}) });
  router.service(pb.SubscriptionService, {
    async *watchAll(request) {
      requested.push(request);
      throw serverError(Code.InvalidArgument); // a code that watches do not retry
    },
  });
});
const client = sdk.connect({ address: server.address, app: "shop", userId: "alice" });
after(() => (client.close(), server.close()));
beforeEach(() => (requested.length = 0));

/** Reads all items and returns the last request. */
async function last<M extends Message>(items: AsyncIterable<unknown>): Promise<M> {
  for await (const _ of items);
  return requested.at(-1) as M;
}
const listed = (options?: sdk.SessionsQuery) => last<pb.ListSessionsRequest>(client.sessions(options));
const searched = async (options?: sdk.SearchOptions) => (await last<pb.SearchEventsRequest>(client.search("hit", options))).scope;

async function followed(options: sdk.WatchAllOptions) {
  await assert.rejects(last(client.watchAll(options)), { code: Code.InvalidArgument });
  return (requested.at(-1) as pb.WatchAllRequest).scope!;
}

test("a list by labels uses the client's user and app", async () => {
  const { userId, app, labels } = await listed({ labels: { team: "red" } });
  assert.deepEqual([userId, app, labels], ["alice", "shop", { team: "red" }]);
});

test("a list of any user or any app covers them", async () => {
  const [users, apps, all] = [await listed({ anyUser: true }), await listed({ anyApp: true }), await listed({ anyUser: true, anyApp: true })];
  assert.deepEqual([users.userId, users.app], ["", "shop"]);
  assert.deepEqual([apps.userId, apps.app], ["alice", undefined]);
  assert.deepEqual([all.userId, all.app], ["", undefined]);
});

test("a list with a user or an app keeps them, and an empty app means none", async () => {
  const [named, without] = [await listed({ userId: "bob", app: "bank" }), await listed({ userId: "", app: "" })];
  assert.deepEqual([named.userId, named.app], ["bob", "bank"]);
  assert.deepEqual([without.userId, without.app], ["alice", ""]);
});

test("a client without user and app completes nothing", async () => {
  const bare = sdk.connect({ address: server.address });
  const { userId, app } = await last<pb.ListSessionsRequest>(bare.sessions());
  assert.deepEqual([userId, app], ["", undefined]);
  bare.close();
});

test("a deletion of expired sessions uses the client's user and app unless widened", async () => {
  assert.equal((await client.deleteExpiredSessions({ before: new Date(7000) })).deletedSessions, 2n);
  await client.deleteExpiredSessions({ anyUser: true, anyApp: true });
  const [own, all] = requested as pb.DeleteExpiredSessionsRequest[];
  assert.deepEqual([own!.userId, own!.app, own!.before!.seconds], ["alice", "shop", 7n]);
  assert.deepEqual([all!.userId, all!.app], ["", undefined]);
});

test("a watch by labels uses the client's user and app", async () => {
  const scope = { labels: { team: "red" } };
  const [own, users, all] = [await followed(scope), await followed({ ...scope, anyUser: true }), await followed({ ...scope, anyUser: true, anyApp: true })];
  assert.deepEqual([own.userId, own.app, own.labels], ["alice", "shop", { team: "red" }]);
  assert.deepEqual([users.userId, users.app, users.labels], ["", "shop", { team: "red" }]);
  assert.deepEqual([all.userId, all.app], ["", undefined]);
  const named = await followed({ app: "", userId: "bob" });
  assert.deepEqual([named.userId, named.app], ["bob", ""]);
});

test("a search without a scope uses the client's user and app", async () => {
  const scopes = [await searched(), await searched({ userId: "" }), await searched({ userId: "bob" })];
  assert.deepEqual(scopes.map((scope) => [scope.case, (scope.value as pb.UserScope).userId, (scope.value as pb.UserScope).app]), [
    ["user", "alice", "shop"],
    ["user", "alice", "shop"],
    ["user", "bob", "shop"],
  ]);
  const apps = await searched({ anyApp: true });
  assert.deepEqual([(apps.value as pb.UserScope).userId, (apps.value as pb.UserScope).app], ["alice", undefined]);
});

test("a search of any user requires one app", async () => {
  const all = await searched({ anyUser: true });
  assert.deepEqual([all.case, (all.value as pb.AppScope).app], ["app", "shop"]);
  const without = await searched({ anyUser: true, app: "" });
  assert.deepEqual([without.case, (without.value as pb.AppScope).app], ["app", ""]);
  await assert.rejects(client.search("hit", { anyUser: true, anyApp: true }).next(), TypeError);
});

test("a search of a session is in that session", async () => {
  const { scope } = await last<pb.SearchEventsRequest>(client.session("s1").search("hit"));
  assert.deepEqual([scope.case, (scope.value as sdk.SessionRef).userId], ["session", "alice"]);
});

test("an erasure of a user is of the client's app unless it is of any", async () => {
  await client.deleteUser("bob");
  await client.deleteUser("bob", { anyApp: true });
  const [own, any] = requested as pb.DeleteUserRequest[];
  assert.deepEqual([own!.userId, own!.app, any!.app], ["bob", "shop", undefined]);
});

test("an erasure by labels is of the client's user and app, and repeated until nothing is left", async () => {
  left = 2;
  const progress: bigint[] = [];
  const receipt = await client.deleteByLabel({ team: "red" }, { purgeMemories: true, progress: ({ deletedSessions }) => progress.push(deletedSessions) });
  assert.deepEqual([progress, receipt.deletedSessions], [[2n, 1n, 0n], 0n]);
  const { userId, app, labels, purgeMemories } = requested[0] as pb.DeleteByLabelRequest;
  assert.deepEqual([userId, app, labels, purgeMemories], ["alice", "shop", { team: "red" }, true]);
});

test("a search without a mode sends none", async () => {
  const { mode } = await last<pb.SearchEventsRequest>(client.search("hit"));
  assert.equal(mode, pb.SearchMode.UNSPECIFIED);
});

test("a memory's scope is completed, and an empty app means none", async () => {
  const scopes = [client.memory(), client.memory({ userId: "bob" }), client.memory({ app: "" })].map(({ scope }) => [scope.userId, scope.app]);
  assert.deepEqual(scopes, [["alice", "shop"], ["bob", "shop"], ["alice", ""]]);
});

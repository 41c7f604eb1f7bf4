// The clients of these tests have the app "shop" and the user "alice".

import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";

import { create, type Message } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";

import * as sdk from "../src/node.js";
import { serve, serverError } from "./support.js";

const requested: Message[] = [];
const server = await serve((router) => {
  router.service(sdk.SessionService, {
    listSessions: (request) => (requested.push(request), {}),
    deleteExpiredSessions: (request) => (requested.push(request), { deletedSessions: 2n }),
  });
  router.service(sdk.SearchService, { searchEvents: (request) => (requested.push(request), {}) });
  router.service(sdk.MemoryService, { searchMemory: (request) => (requested.push(request), {}) });
  router.service(sdk.SubscriptionService, {
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
const listed = (options?: sdk.SessionsOptions) => last<sdk.ListSessionsRequest>(client.sessions(options));
const searched = async (options?: sdk.SearchOptions) => (await last<sdk.SearchEventsRequest>(client.search("hit", options))).scope;

async function followed(...given: Parameters<sdk.Client["watch"]>) {
  await assert.rejects(last(client.watch(...given)), { code: Code.InvalidArgument });
  return (requested.at(-1) as sdk.WatchAllRequest).scope!;
}

test("a list by labels uses the client's user and app", async () => {
  const { userId, app, labels } = await listed({ labels: { team: "red" } });
  assert.deepEqual([userId, app, labels], ["alice", "shop", { team: "red" }]);
});

test("a list of all users or all apps covers them", async () => {
  const [users, apps, all] = [await listed({ allUsers: true }), await listed({ allApps: true }), await listed({ allUsers: true, allApps: true })];
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
  const { userId, app } = await last<sdk.ListSessionsRequest>(bare.sessions());
  assert.deepEqual([userId, app], ["", undefined]);
  bare.close();
});

test("a deletion of expired sessions uses the client's user and app unless widened", async () => {
  assert.equal((await client.deleteExpiredSessions({ before: { seconds: 7n } })).deletedSessions, 2n);
  await client.deleteExpiredSessions({ allUsers: true, allApps: true });
  const [own, all] = requested as sdk.DeleteExpiredSessionsRequest[];
  assert.deepEqual([own!.userId, own!.app, own!.before!.seconds], ["alice", "shop", 7n]);
  assert.deepEqual([all!.userId, all!.app], ["", undefined]);
});

test("a watch by labels uses the client's user and app", async () => {
  const scope = { labels: { team: "red" } };
  const [own, users, all] = [await followed({ scope }), await followed({ scope, allUsers: true }), await followed({ scope, allUsers: true, allApps: true })];
  assert.deepEqual([own.userId, own.app, own.labels], ["alice", "shop", { team: "red" }]);
  assert.deepEqual([users.userId, users.app, users.labels], ["", "shop", { team: "red" }]);
  assert.deepEqual([all.userId, all.app], ["", undefined]);
  const message = create(sdk.ChangeScopeSchema, { app: "", userId: "bob" });
  const named = await followed({ scope: message });
  assert.deepEqual([named.userId, named.app], ["bob", ""]);
});

test("a search without a scope uses the client's user and app", async () => {
  const scopes = [await searched(), await searched({ scope: { case: "user", value: {} } }), await searched({ scope: { case: "user", value: { userId: "bob" } } })];
  assert.deepEqual(scopes.map((scope) => [scope.case, (scope.value as sdk.UserScope).userId, (scope.value as sdk.UserScope).app]), [
    ["user", "alice", "shop"],
    ["user", "alice", "shop"],
    ["user", "bob", "shop"],
  ]);
  const apps = await searched({ allApps: true });
  assert.deepEqual([(apps.value as sdk.UserScope).userId, (apps.value as sdk.UserScope).app], ["alice", undefined]);
});

test("a search of all users requires one app, and a scope of a session or an app is kept", async () => {
  const all = await searched({ allUsers: true });
  assert.deepEqual([all.case, (all.value as sdk.AppScope).app], ["app", "shop"]);
  assert.throws(() => client.search("hit", { allUsers: true, allApps: true }), TypeError);
  const session = await searched({ session: "s1" });
  assert.deepEqual([session.case, (session.value as sdk.SessionRef).userId], ["session", "alice"]);
  const app = await searched({ scope: { case: "app", value: { app: "" } } });
  assert.deepEqual([app.case, (app.value as sdk.AppScope).app], ["app", ""]);
});

test("a search without a mode sends none", async () => {
  const { mode } = await last<sdk.SearchEventsRequest>(client.search("hit"));
  assert.equal(mode, sdk.SearchMode.UNSPECIFIED);
});

test("a memory's scope is completed, and an empty app means none", async () => {
  const scopes = [client.memory(), client.memory({ userId: "bob" }), client.memory({ app: "" })].map(({ scope }) => [scope.userId, scope.app]);
  assert.deepEqual(scopes, [["alice", "shop"], ["bob", "shop"], ["alice", ""]]);
});

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { Code } from "@connectrpc/connect";

import * as sdk from "../src/node.js";
import * as pb from "../src/v1.js";
import { errorInfo, serve, serverError } from "./support.js";

const requested: { added: pb.AddMemoriesRequest[]; others: any[] } = { added: [], others: [] };
let errors: Error[] = [];

const server = await serve((router) => {
  router.service(pb.MemoryService, {
    addMemories(request) {
      requested.added.push(request);
      const error = errors.shift();
      if (error) throw error;
      return { memories: request.memories.map(({ id }) => ({ id })) };
    },
    addSessionToMemory: (request) => (requested.others.push(request), { added: 2 }),
    searchMemory: (request) => (requested.others.push(request), { mode: pb.SearchMode.RANKED }),
    listMemories: ({ pageToken, filter }) => (pageToken ? { entries: [{ id: filter!.authors[0]! }] } : { entries: [{ id: "1" }], nextPageToken: "more" }),
    deleteMemories: (request) => (requested.others.push(request), { deleted: 1n }),
    upsertMemories: (request) => (requested.others.push(request), { memories: request.writes.map(({ memory }) => ({ name: { id: memory!.id }, etag: "t" })) }),
    getMemories: (request) => (requested.others.push(request), { memories: request.names.map((name, n) => (n === 1 ? { name, omitted: true } : name.id === "none" ? { name } : { name, entry: { id: name.id } })) }),
    listMemoryNamespaces: (request) => (requested.others.push(request), request.pageToken ? { namespaces: [{ labels: ["a", "b"] }] } : { namespaces: [{ labels: [] }], nextPageToken: "more" }),
  });
  router.service(pb.ToolService, { callTool: ({ session, name }) => ({ resultJson: JSON.stringify([session!.userId, name]) }) });
});
const client = sdk.connect({ address: server.address, app: "shop", userId: "alice" });
after(() => (client.close(), server.close()));

test("memories get ids in copies, the same in every attempt", async () => {
  errors = [serverError(Code.Unavailable, errorInfo("STORE_UNAVAILABLE"))];
  const entry = { content: sdk.user("Likes tea.").message, author: "ada" };
  await client.memory().add(["Prefers a window seat.", entry, { ...entry, id: "mine" }]);
  const [first, second] = requested.added.splice(0);
  assert.deepEqual(first, second);
  const { scope, memories } = first!;
  assert.deepEqual([scope!.app, scope!.userId, memories[2]!.id, "id" in entry], ["shop", "alice", "mine", false]);
  assert.match(memories[0]!.id, /^[0-9a-f-]{36}$/);
  assert.notEqual(memories[0]!.id, memories[1]!.id);
  assert.deepEqual([memories[0]!.content!.role, memories[1]!.author], [sdk.Role.USER, "ada"]);
  assert.deepEqual(memories.map(sdk.textOf), ["Prefers a window seat.", "Likes tea.", "Likes tea."]);
  await client.memory().add("One alone.");
  assert.equal(requested.added.splice(0)[0]!.memories.length, 1);
});

test("a memory handle replaces the scope of requests", async () => {
  const memory = client.memory({ app: "other", userId: "bob" });
  await memory.addSession("s1", { includeTools: true });
  await memory.search("tea", { mode: pb.SearchMode.RANKED, topK: 3 });
  const which = [{ ids: ["1"] }, { sessionId: "s1" }, { all: true }, { names: ["1", { id: "2", namespace: ["a"] }] }, { namespace: ["a"] }] as const;
  for (const each of which) await memory.delete(each);
  const [ingest, search, ...deletes] = requested.others.splice(0);
  assert.deepEqual([ingest.session.app, ingest.session.userId, ingest.session.sessionId, ingest.includeTools], ["other", "bob", "s1", true]);
  assert.deepEqual([search.scope.userId, search.query, search.mode, search.topK], ["bob", "tea", pb.SearchMode.RANKED, 3]);
  assert.deepEqual(deletes.map(({ scope, selection }) => [scope.userId, selection.case]), [["bob", "ids"], ["bob", "sessionId"], ["bob", "all"], ["bob", "names"], ["bob", "namespace"]]);
});

test("memories are listed page by page", async () => {
  const ids = [];
  for await (const entry of client.memory().list({ filter: { authors: ["ada"] } })) ids.push(entry.id);
  assert.deepEqual(ids, ["1", "ada"]);
});

test("an upsert writes entries with ids, preconditions and a ttl", async () => {
  const entry = sdk.remember("Window seat.", { id: "seat", namespace: ["prefs"], ttlMs: 1500, metadata: { n: 1 } });
  const { memories } = await client.memory().upsert([entry, { memory: "Likes tea.", expectedEtag: "" }], { ifExists: "ignore" });
  assert.equal(memories[0]!.name!.id, "seat");
  const [{ writes, ifExists, scope }] = requested.others.splice(0);
  assert.deepEqual([scope.userId, ifExists, writes[0].expectedEtag, writes[1].expectedEtag], ["alice", pb.IfMemoryExists.IGNORE, undefined, ""]);
  const { namespace, ttl, metadataJson, id } = writes[0].memory;
  assert.deepEqual([namespace, ttl.seconds, ttl.nanos, metadataJson, id, writes[1].memory.id.length], [["prefs"], 1n, 500_000_000, '{"n":1}', "seat", 36]);
  await client.memory().upsert("One alone.");
  assert.equal(requested.others.splice(0)[0].ifExists, pb.IfMemoryExists.REPLACE);
});

test("entries are read by name, those that did not fit by further calls", async () => {
  const found = await client.memory().getMany(["1", "none", { id: "2", namespace: ["a"] }], { refreshTtl: true });
  assert.deepEqual(found.map((entry) => entry?.id), ["1", undefined, "2"]);
  const calls = requested.others.splice(0);
  assert.deepEqual(calls.map(({ names }) => names.length), [3, 2, 1]);
  assert.deepEqual([calls[0].refreshTtl, calls[2].names[0].namespace], [true, ["a"]]);
  assert.equal(await client.memory().get("none"), undefined);
  assert.deepEqual(await client.memory().getMany([]), []);
});

test("namespaces are listed page by page, and conditions compare JSON values", async () => {
  requested.others.length = 0;
  const found = [];
  for await (const labels of client.memory().namespaces({ suffix: ["*", "b"], maxDepth: 2 })) found.push(labels);
  assert.deepEqual([found, requested.others[1].suffix, requested.others[1].maxDepth], [[[], ["a", "b"]], ["*", "b"], 2]);
  await client.memory().search("tea", { filter: { conditions: [{ key: "n", operator: "gte", value: 2 }, { key: "c", operator: "in", value: ["red"] }], namespacePrefix: ["a"] }, refreshTtl: true });
  const { filter, refreshTtl } = requested.others.pop();
  assert.deepEqual(filter.conditions.map((each: pb.MetadataCondition) => [each.key, each.operator, each.valueJson]), [["n", pb.MetadataOperator.GREATER_OR_EQUAL, "2"], ["c", pb.MetadataOperator.IN, '["red"]']]);
  assert.deepEqual([filter.namespacePrefix, refreshTtl], [["a"], true]);
  assert.throws(() => client.memory().listPage({ filter: { conditions: [{ key: "n", operator: "like" as "eq", value: 1 }] } }), /"like" is none of eq/);
});

test("tools are called like any RPC", async () => {
  const answer = await client.raw(pb.ToolService).callTool({ session: client.session("s1").ref, name: "load_memory" });
  assert.equal(answer.resultJson, '["alice","load_memory"]');
});

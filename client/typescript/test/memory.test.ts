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
  for (const which of [{ ids: ["1"] }, { sessionId: "s1" }, { all: true }] as const) await memory.delete(which);
  const [ingest, search, ...deletes] = requested.others.splice(0);
  assert.deepEqual([ingest.session.app, ingest.session.userId, ingest.session.sessionId, ingest.includeTools], ["other", "bob", "s1", true]);
  assert.deepEqual([search.scope.userId, search.query, search.mode, search.topK], ["bob", "tea", pb.SearchMode.RANKED, 3]);
  assert.deepEqual(deletes.map(({ scope, selection }) => [scope.userId, selection.case]), [["bob", "ids"], ["bob", "sessionId"], ["bob", "all"]]);
});

test("memories are listed page by page", async () => {
  const ids = [];
  for await (const entry of client.memory().list({ filter: { authors: ["ada"] } })) ids.push(entry.id);
  assert.deepEqual(ids, ["1", "ada"]);
});

test("tools are called like any RPC", async () => {
  const answer = await client.raw(pb.ToolService).callTool({ session: client.session("s1").ref, name: "load_memory" });
  assert.equal(answer.resultJson, '["alice","load_memory"]');
});

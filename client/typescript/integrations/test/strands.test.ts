// The storage and the memory store of Strands, each line of their contracts, and an agent that is resumed.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { Agent, MemoryManager, Model, SessionManager, StorageError, tool, type Message, type ModelStreamEvent } from "@strands-agents/sdk";
import { z } from "zod";
import { newEventId, type Client } from "@threadkeep/client";

import { ThreadkeepMemoryStore, ThreadkeepStorage } from "../src/strands.js";
import { freshClient, KillableServer } from "./support.js";

const bytes = (...values: number[]) => new Uint8Array(values);
const text = (value: string) => new TextEncoder().encode(value);

function fresh(): { client: Client; storage: ThreadkeepStorage } {
  const client = freshClient();
  return { client, storage: new ThreadkeepStorage(client) };
}

test("read returns the bytes of write unchanged, and null for a key without a value", async () => {
  const { client, storage } = fresh();
  assert.equal(await storage.read("a/b"), null);
  const all = Uint8Array.from({ length: 256 }, (_, value) => value);
  await storage.write("a/b", all);
  await storage.write("empty", bytes());
  const again = new ThreadkeepStorage(client);
  assert.deepEqual(await again.read("a/b"), all);
  assert.deepEqual(await again.read("empty"), bytes());
});

test("write overwrites, also a longer value by a shorter one, and keeps nothing of it", async () => {
  const { client, storage } = fresh();
  const long = crypto.getRandomValues(new Uint8Array(60_000));
  const random = new Uint8Array(1_500_000).map((_, place) => long[place % long.length]! ^ (place >> 8));
  await storage.write("key", random);
  assert.deepEqual(await storage.read("key"), random);
  await storage.write("key", text("short"));
  assert.deepEqual(await storage.read("key"), text("short"));
  const { values } = await client.session("strands-storage/key").state().get();
  assert.deepEqual(Object.keys(values), ["0"]);
});

test("delete removes a key, and does nothing without one", async () => {
  const { storage } = fresh();
  await storage.write("key", text("x"));
  await storage.delete("key");
  await storage.delete("key");
  assert.equal(await storage.read("key"), null);
  assert.deepEqual(await storage.list(""), []);
});

test("list returns full keys that begin with a prefix, sorted; all for an empty one", async () => {
  const { client, storage } = fresh();
  for (const key of ["s/b", "s/a", "sx", "t/a"]) await storage.write(key, text(key));
  await client.session("strands-storagex").create();
  assert.deepEqual(await storage.list("s/"), ["s/a", "s/b"]);
  assert.deepEqual(await storage.list("s"), ["s/a", "s/b", "sx"]);
  assert.deepEqual(await storage.list(""), ["s/a", "s/b", "sx", "t/a"]);
  assert.deepEqual(await storage.list("nowhere"), []);
});

test("errors are StorageErrors: an empty key, a key that is too long, a value that is too large", async () => {
  const { storage } = fresh();
  await assert.rejects(storage.read(""), StorageError);
  await assert.rejects(storage.write("x".repeat(300), bytes(1)), StorageError);
  const noise = new Uint8Array(3_200_000);
  for (let at = 0; at < noise.length; at += 65_536) crypto.getRandomValues(noise.subarray(at, at + 65_536));
  await assert.rejects(storage.write("key", noise), StorageError);
});

test("ten first writes of one key at the same time all succeed, and one of the values is stored", async () => {
  const { client, storage } = fresh();
  await Promise.all(Array.from({ length: 10 }, (_, n) => new ThreadkeepStorage(client).write("key", text(`${n}`))));
  assert.match(new TextDecoder().decode((await storage.read("key"))!), /^\d$/);
});

type Said = { text: string } | { tool: string; input: object } | (() => Promise<unknown>);

/** A model that says one script per call; a function in a script is awaited in place. */
class Scripted extends Model {
  readonly prompts: string[][] = [];
  #call = 0;

  constructor(...scripts: Said[][]) {
    super();
    this.#scripts = scripts;
  }

  readonly #scripts: Said[][];
  updateConfig() {}
  getConfig() {
    return {};
  }

  async *stream(messages: Message[]): AsyncIterable<ModelStreamEvent> {
    this.prompts.push(messages.map(({ role }) => role));
    const script = this.#scripts[this.#call++]!;
    yield { type: "modelMessageStartEvent", role: "assistant" } as ModelStreamEvent;
    let stopReason = "endTurn";
    for (const said of script) {
      if (typeof said === "function") {
        await said();
        continue;
      }
      const called = "tool" in said;
      if (called) stopReason = "toolUse";
      yield { type: "modelContentBlockStartEvent", ...(called ? { start: { type: "toolUseStart", name: said.tool, toolUseId: "c1" } } : {}) } as ModelStreamEvent;
      const delta = called ? { type: "toolUseInputDelta", input: JSON.stringify(said.input) } : { type: "textDelta", text: said.text };
      yield { type: "modelContentBlockDeltaEvent", delta } as ModelStreamEvent;
      yield { type: "modelContentBlockStopEvent" } as ModelStreamEvent;
    }
    yield { type: "modelMessageStopEvent", stopReason } as ModelStreamEvent;
  }
}

function guide(client: Client, sessionId: string, model: Scripted) {
  const ran = { tools: 0 };
  const weather = tool({
    name: "weather",
    description: "the weather",
    inputSchema: z.object({ city: z.string() }),
    callback: () => {
      ran.tools += 1;
      return "21 degrees";
    },
  });
  const sessionManager = new SessionManager({ sessionId, storage: new ThreadkeepStorage(client), saveLatestOn: "message" });
  const agent = new Agent({ id: "guide", model, tools: [weather], sessionManager, printer: false });
  return { agent, ran };
}

const CALL: Said[] = [{ tool: "weather", input: { city: "Lisbon" } }];

test("an agent with a session manager is restored with its messages, and snapshots are listed in order", async () => {
  const [{ client, storage }, sessionId] = [fresh(), newEventId()];
  const first = guide(client, sessionId, new Scripted(CALL, [{ text: "It is warm." }]));
  await first.agent.invoke("How is the weather in Lisbon?");
  const model = new Scripted([{ text: "Take a hat." }]);
  const second = guide(client, sessionId, model);
  await second.agent.invoke("Do I need a hat?");
  assert.deepEqual(model.prompts, [["user", "assistant", "user", "assistant", "user"]]);
  assert.equal(second.agent.messages.length, 6);
  assert.deepEqual(await storage.list(`session/${sessionId}/`), [`session/${sessionId}/scopes/agent/guide/snapshots/snapshot_latest.json`]);
  const manager = new SessionManager({ sessionId, storage });
  await manager.saveSnapshot({ target: second.agent, isLatest: false });
  await manager.saveSnapshot({ target: second.agent, isLatest: false });
  const ids = await manager.listSnapshotIds({ target: second.agent });
  assert.equal(ids.length, 2);
  assert.deepEqual(ids, [...ids].sort());
  await manager.deleteSession();
  assert.deepEqual(await storage.list(""), []);
});

test("a run continues when the server is killed in the middle and started again; nothing is lost or said twice", async (context) => {
  const server = await KillableServer.start(context);
  const client = freshClient(server.address);
  const sessionId = newEventId();
  const restart = async () => {
    await server.kill();
    void pause(300).then(() => server.start());
  };
  const { agent, ran } = guide(client, sessionId, new Scripted(CALL, [restart, { text: "It is warm." }]));
  await agent.invoke("How is the weather in Lisbon?");
  assert.deepEqual([ran.tools, agent.messages.length], [1, 4]);
  await server.kill();
  await server.start();
  const model = new Scripted([{ text: "Take a hat." }]);
  const second = guide(freshClient(server.address, client.app), sessionId, model);
  await second.agent.invoke("Do I need a hat?");
  assert.deepEqual([second.ran.tools, model.prompts], [0, [["user", "assistant", "user", "assistant", "user"]]]);
});

test("memory: add stores a content once, search returns it with its metadata, best first", async () => {
  const { client } = fresh();
  const store = new ThreadkeepMemoryStore(client, { maxSearchResults: 5 });
  const id = await store.add("Prefers a window seat.", { kind: "seat" });
  assert.equal(await store.add("Prefers a window seat.", { kind: "seat" }), id);
  await store.add("Allergic to peanuts.");
  const [found, ...more] = await store.search("window seat");
  assert.deepEqual([found?.content, found?.storeName, found?.metadata?.["kind"], found?.metadata?.["id"]], ["Prefers a window seat.", "threadkeep", "seat", id]);
  assert.equal(more.filter(({ content }) => content === "Prefers a window seat.").length, 0);
  assert.equal((await store.search("seat peanuts", { maxSearchResults: 1 })).length, 1);
  assert.deepEqual(await store.search("x".repeat(5000)), []);
});

test("memory: addMessages stores the texts of messages once, also if a batch is repeated", async () => {
  const { client } = fresh();
  const store = new ThreadkeepMemoryStore(client, { namespace: ["notes"] });
  const messages = [
    { role: "user", content: [{ text: "I like tea." }], trackingId: "m1" },
    { role: "assistant", content: [{ toolUse: { name: "x", toolUseId: "c", input: {} } }] },
    { role: "user", content: [{ text: "I like tea." }] },
  ] as Parameters<typeof store.addMessages>[0];
  for (let n = 0; n < 2; n += 1) assert.equal(await store.addMessages(messages, { sequenceNumbers: [0, 1, 2] }), 2);
  assert.equal((await store.search("tea")).length, 2);
  assert.deepEqual(await new ThreadkeepMemoryStore(client, { namespace: ["other"] }).search("tea"), []);
});

test("memory: a MemoryManager searches and adds through the store", async () => {
  const { client } = fresh();
  const manager = new MemoryManager({ stores: [new ThreadkeepMemoryStore(client, { name: "facts" })] });
  await manager.add("Prefers a window seat.");
  const [found] = await manager.search("window");
  assert.deepEqual([found?.content, found?.storeName], ["Prefers a window seat.", "facts"]);
});

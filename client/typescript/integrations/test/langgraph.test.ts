// The checkpointer and the store of LangGraph, in Threadkeep.

import assert from "node:assert/strict";
import { test } from "node:test";

import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { emptyCheckpoint, INTERRUPT, uuid6, type Checkpoint, type CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import { media, newEventId, remember, toolResult, user, assistant, toolCall, type SessionEvent } from "@threadkeep/client";

import { ThreadkeepSaver, ThreadkeepStore } from "../src/langgraph.js";
import { freshClient } from "./support.js";

const META: CheckpointMetadata = { source: "loop", step: 0, parents: {} };
const config = (thread_id: string, checkpoint_id?: string) => ({ configurable: { thread_id, checkpoint_ns: "", checkpoint_id } });

function checkpoint(values: Record<string, unknown> = {}): { checkpoint: Checkpoint; versions: Record<string, number> } {
  const versions = Object.fromEntries(Object.keys(values).map((name) => [name, 1]));
  return { checkpoint: { ...emptyCheckpoint(), id: uuid6(0), channel_values: values, channel_versions: versions }, versions };
}

async function eventsOf(client: ReturnType<typeof freshClient>, thread: string): Promise<SessionEvent[]> {
  const found: SessionEvent[] = [];
  for await (const event of client.session(thread).events()) found.push(event);
  return found;
}

test("a checkpoint that is put twice is stored once", async () => {
  const client = freshClient();
  const saver = new ThreadkeepSaver(client);
  const { checkpoint: first, versions } = checkpoint({ a: 1 });
  await saver.put(config("t"), first, META, versions);
  await new ThreadkeepSaver(client).put(config("t"), first, META, versions);
  assert.equal((await eventsOf(client, "t")).length, 1);
});

test("an ordinary write stays, and a special one is replaced", async () => {
  const saver = new ThreadkeepSaver(freshClient());
  const stored = await saver.put(config("t"), checkpoint().checkpoint, META, {});
  await saver.putWrites(stored, [["a", 1], [INTERRUPT, "first"]], "task");
  await saver.putWrites(stored, [["a", 2], [INTERRUPT, "second"]], "task");
  assert.deepEqual((await saver.getTuple(stored))?.pendingWrites, [["task", INTERRUPT, "second"], ["task", "a", 1]]);
});

test("writes come in the order of task path, task and place, by code points", async () => {
  const saver = new ThreadkeepSaver(freshClient());
  const stored = await saver.put(config("t"), checkpoint().checkpoint, META, {});
  await saver.putWrites(stored, [["a", 1], ["a", 2]], "task-1", "~\u{1f600}");
  await saver.putWrites(stored, [["a", 3]], "task-2", "~\uffee");
  await saver.putWrites(stored, [["a", 4]], "task-9");
  assert.deepEqual((await saver.getTuple(stored))?.pendingWrites?.map(([, , value]) => value), [4, 3, 1, 2]);
});

test("writes that are stored before their checkpoint are found", async () => {
  const client = freshClient();
  const saver = new ThreadkeepSaver(client);
  const { checkpoint: first, versions } = checkpoint({ a: 1 });
  const parent = await saver.put(config("t"), first, META, versions);
  const second = checkpoint({ a: 2 });
  await saver.putWrites(config("t", second.checkpoint.id), [["a", 9]], "task");
  await saver.put(parent, second.checkpoint, META, second.versions);
  for (const reader of [saver, new ThreadkeepSaver(client)]) {
    assert.deepEqual((await reader.getTuple(config("t")))?.pendingWrites, [["task", "a", 9]]);
    assert.deepEqual((await reader.getTuple(config("t", second.checkpoint.id)))?.pendingWrites, [["task", "a", 9]]);
  }
});

test("values of every kind come back as they were", async () => {
  const saver = new ThreadkeepSaver(freshClient());
  const values = { bytes: new Uint8Array([0, 1, 255]), set: new Set([1]), map: new Map([["a", 1]]), text: "\u0000 \ud83c\udf1e", none: null };
  const { checkpoint: first, versions } = checkpoint(values);
  await saver.put(config("t"), first, META, versions);
  assert.deepEqual((await saver.getTuple(config("t")))?.checkpoint, first);
});

test("the messages of a state are events of the conversation, once", async () => {
  const client = freshClient();
  const question = new HumanMessage({ id: "m1", content: "Hi" });
  const answer = new AIMessage({ id: "m2", content: "Yes.", tool_calls: [{ id: "c1", name: "find", args: { a: 1 }, type: "tool_call" }] });
  const first = checkpoint({ messages: [question] });
  const parent = await new ThreadkeepSaver(client).put(config("t"), first.checkpoint, META, first.versions);
  const second = checkpoint({ messages: [question, answer] });
  await new ThreadkeepSaver(client).put(parent, second.checkpoint, META, { messages: 2 });
  const said = (await eventsOf(client, "t")).filter(({ message }) => message!.parts.length > 0);
  assert.deepEqual(said.map(({ eventId }) => eventId), ["m1", "m2"]);
  assert.deepEqual(said[1]!.message!.parts.map(({ content }) => content.case), ["text", "toolCall"]);
});

test("an edited message replaces the stored one in its place", async () => {
  const client = freshClient();
  const saver = new ThreadkeepSaver(client);
  const messages = [new HumanMessage({ id: "m1", content: "Hi" }), new AIMessage({ id: "m2", content: "No." })];
  const first = checkpoint({ messages });
  const parent = await saver.put(config("t"), first.checkpoint, META, first.versions);
  const second = checkpoint({ messages: [new HumanMessage({ id: "m1", content: "Hello" }), messages[1]] });
  await saver.put(parent, second.checkpoint, META, { messages: 2 });
  const active = (await eventsOf(client, "t")).filter(({ archived, message }) => !archived && message!.parts.length > 0);
  assert.deepEqual(active.map(({ message }) => message!.parts[0]!.content.value), ["Hello", "No."]);
});

test("the messages of other writers are LangChain's, and are not stored again", async () => {
  const client = freshClient();
  const saver = new ThreadkeepSaver(client);
  const others = [
    user(["Look.", media("image/png", { data: new Uint8Array([1]) })], { eventId: "o1" }),
    assistant(["Hm.", toolCall("c1", "find", { a: 1 })], { eventId: "o2", author: "planner" }),
    toolResult("c1", { name: "find", content: "found" }, { eventId: "o3" }),
  ];
  await client.session("t").append(others, { createIfMissing: true });
  const found = await saver.messagesOfOthers(config("t"));
  assert.deepEqual(found.map((message) => message.getType()), ["human", "ai", "tool"]);
  assert.deepEqual((found[1] as AIMessage).tool_calls, [{ id: "c1", name: "find", args: { a: 1 }, type: "tool_call" }]);
  const first = checkpoint({ messages: [...found, new HumanMessage({ id: "m1", content: "Hi" })] });
  await saver.put(config("t"), first.checkpoint, META, first.versions);
  assert.equal((await eventsOf(client, "t")).length, 5);
  assert.deepEqual(await saver.messagesOfOthers(config("t")), []);
});

test("a store puts, gets, lists, filters and deletes items", async () => {
  const store = new ThreadkeepStore(freshClient());
  await store.put(["docs", "a"], "1", { kind: "report", pages: 3, tags: ["x"] });
  await store.put(["docs", "b"], "2", { kind: "note", pages: 10 });
  await store.put(["docs", "a"], "1", { kind: "report", pages: 4, tags: ["x"] });
  const item = await store.get(["docs", "a"], "1");
  assert.deepEqual([item?.key, item?.namespace, item?.value], ["1", ["docs", "a"], { kind: "report", pages: 4, tags: ["x"] }]);
  assert.ok(item!.createdAt <= item!.updatedAt);
  const keys = async (filter: Record<string, unknown>) => (await store.search(["docs"], { filter })).map(({ key }) => key);
  assert.deepEqual(await keys({ kind: "note" }), ["2"]);
  assert.deepEqual(await keys({ pages: { $gte: 4, $lt: 10 } }), ["1"]);
  assert.deepEqual((await keys({ pages: { $ne: 5 } })).sort(), ["1", "2"]);
  assert.deepEqual(await keys({ tags: ["x"] }), ["1"]);
  assert.deepEqual(await store.listNamespaces({ prefix: ["docs"] }), [["docs", "a"], ["docs", "b"]]);
  assert.deepEqual(await store.listNamespaces({ maxDepth: 1 }), [["docs"]]);
  assert.deepEqual(await store.listNamespaces({ suffix: ["b"] }), [["docs", "b"]]);
  await store.delete(["docs", "a"], "1");
  assert.equal(await store.get(["docs", "a"], "1"), null);
});

test("a store finds items by a query, and not those without an index", async () => {
  const store = new ThreadkeepStore(freshClient(), { fields: ["text"] });
  await store.put(["m"], "1", { text: "Alice prefers a window seat." });
  await store.put(["m"], "2", { text: "A window seat, but hidden." }, false);
  await store.put(["m"], "3", { text: "nothing", title: "the window" }, ["title"]);
  const found = await store.search(["m"], { query: "window" });
  assert.deepEqual(found.map(({ key }) => key).sort(), ["1", "3"]);
  assert.ok(found.every(({ score }) => score! > 0));
  assert.deepEqual((await store.search(["m"], { limit: 2, offset: 1 })).map(({ key }) => key), ["2", "1"]);
});

test("a store's batch reads before it writes, and the last write of an item counts", async () => {
  const store = new ThreadkeepStore(freshClient());
  await store.put(["m"], "1", { n: 1 });
  const [before] = await store.batch([
    { namespace: ["m"], key: "1" },
    { namespace: ["m"], key: "1", value: { n: 2 } },
    { namespace: ["m"], key: "1", value: { n: 3 } },
  ]);
  assert.deepEqual(before?.value, { n: 1 });
  assert.deepEqual((await store.get(["m"], "1"))?.value, { n: 3 });
});

test("a store shows memories of other writers with their text", async () => {
  const client = freshClient();
  await client.memory().upsert(remember("Likes tea.", { id: newEventId(), namespace: ["m"], metadata: { source: "chat" } }));
  assert.deepEqual((await new ThreadkeepStore(client).search(["m"])).map(({ value }) => value), [{ text: "Likes tea.", source: "chat" }]);
});

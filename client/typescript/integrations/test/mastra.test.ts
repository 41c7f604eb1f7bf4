// The rules of Mastra's memory storage, each with threads in Threadkeep.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { MastraDBMessage, StorageThreadType } from "@mastra/core/memory";
import { assistant, newEventId, Role, toolCall, toolResult, user, type Client } from "@threadkeep/client";

import { ThreadkeepMemoryStorage, ThreadkeepStore, ThreadkeepThreadState } from "../src/mastra.js";
import { freshClient } from "./support.js";

const DAY = Date.UTC(2026, 0, 1);
const at = (second: number) => new Date(DAY + second * 1000);

function fresh(): { client: Client; storage: ThreadkeepMemoryStorage; again: () => ThreadkeepMemoryStorage } {
  const client = freshClient();
  return { client, storage: new ThreadkeepMemoryStorage(client), again: () => new ThreadkeepMemoryStorage(client) };
}

const thread = (id: string, more: Partial<StorageThreadType> = {}): StorageThreadType => ({
  id, resourceId: "alice", title: `about ${id}`, metadata: {}, createdAt: at(0), updatedAt: at(0), ...more,
});

const message = (id: string, second: number, more: Partial<MastraDBMessage> = {}): MastraDBMessage => ({
  id, threadId: "t1", resourceId: "alice", role: "user", createdAt: at(second), content: { format: 2, parts: [{ type: "text", text: id }] }, ...more,
});

const called = (id: string, second: number, invocation: object): MastraDBMessage =>
  message(id, second, { role: "assistant", content: { format: 2, parts: [{ type: "tool-invocation", toolInvocation: { toolCallId: "c1", toolName: "find", args: { a: 1 }, ...invocation } }] } } as Partial<MastraDBMessage>);

const ids = (messages: readonly { id: string }[]) => messages.map(({ id }) => id);
const listed = async (storage: ThreadkeepMemoryStorage, more: object = {}) => ids((await storage.listMessages({ threadId: "t1", ...more })).messages);

test("getThreadById returns a saved thread with dates, by its id alone or with its resource", async () => {
  const { storage, again } = fresh();
  assert.equal(await storage.getThreadById({ threadId: "t1" }), null);
  const saved = thread("t1", { metadata: { mode: "fast", nested: { a: null } } });
  assert.deepEqual(await storage.saveThread({ thread: saved }), saved);
  const { updatedAt, ...found } = (await again().getThreadById({ threadId: "t1" }))!;
  assert.deepEqual(found, { id: "t1", resourceId: "alice", title: "about t1", metadata: saved.metadata, createdAt: at(0) });
  assert.ok(updatedAt instanceof Date);
  assert.equal((await storage.getThreadById({ threadId: "t1", resourceId: "alice" }))?.id, "t1");
  assert.equal(await storage.getThreadById({ threadId: "t1", resourceId: "bob" }), null);
});

test("saveThread of a stored thread replaces its title and metadata", async () => {
  const { storage } = fresh();
  await storage.saveThread({ thread: thread("t1", { metadata: { a: 1, b: 2 } }) });
  await storage.saveThread({ thread: thread("t1", { title: "new", metadata: { b: 3 } }) });
  const found = await storage.getThreadById({ threadId: "t1" });
  assert.deepEqual([found?.title, found?.metadata], ["new", { b: 3 }]);
});

test("updateThread merges metadata, and leaves out what is not given", async () => {
  const { storage } = fresh();
  assert.equal(storage.supportsPartialThreadUpdate, true);
  await storage.saveThread({ thread: thread("t1", { metadata: { a: 1, b: { x: 1 } } }) });
  const merged = await storage.updateThread({ id: "t1", metadata: { b: { y: 2 }, c: null } });
  assert.deepEqual([merged.title, merged.metadata], ["about t1", { a: 1, b: { y: 2 }, c: null }]);
  const titled = await storage.patchThread({ id: "t1", title: "new" });
  assert.deepEqual([titled.title, titled.metadata], ["new", { a: 1, b: { y: 2 }, c: null }]);
  await assert.rejects(storage.updateThread({ id: "nowhere", title: "x" }), /not found/);
});

test("two processes that update different metadata of a thread lose nothing", async () => {
  const { storage, again } = fresh();
  await storage.saveThread({ thread: thread("t1") });
  await Promise.all(Array.from({ length: 10 }, (_, n) => again().updateThread({ id: "t1", metadata: { [`key${n}`]: n } })));
  assert.equal(Object.keys((await storage.getThreadById({ threadId: "t1" }))!.metadata!).length, 10);
});

test("updateThreadMetadata is an atomic read and write, also of several processes", async () => {
  const { storage, again } = fresh();
  await storage.saveThread({ thread: thread("t1", { metadata: { count: 0 } }) });
  const increment = () => again().updateThreadMetadata({ id: "t1", update: ({ metadata }) => ({ count: (metadata!["count"] as number) + 1 }) });
  await Promise.all(Array.from({ length: 8 }, increment));
  assert.deepEqual((await storage.getThreadById({ threadId: "t1" }))?.metadata, { count: 8 });
  assert.equal(await storage.updateThreadMetadata({ id: "nowhere", update: () => ({}) }), null);
  assert.equal((await storage.updateThreadMetadata({ id: "t1", update: () => undefined }))?.id, "t1");
});

test("listThreads pages, orders and counts: 100 per page, newest first by default", async () => {
  const { storage } = fresh();
  for (let n = 0; n < 5; n += 1) await storage.saveThread({ thread: thread(`t${n}`, { createdAt: at(n), resourceId: n === 4 ? "bob" : "alice" }) });
  const all = await storage.listThreads({});
  assert.deepEqual([ids(all.threads), all.total, all.page, all.perPage, all.hasMore], [["t4", "t3", "t2", "t1", "t0"], 5, 0, 100, false]);
  const second = await storage.listThreads({ page: 1, perPage: 2, orderBy: { field: "createdAt", direction: "ASC" }, filter: { resourceId: "alice" } });
  assert.deepEqual([ids(second.threads), second.total, second.hasMore], [["t2", "t3"], 4, false]);
  const whole = await storage.listThreads({ perPage: false, filter: { resourceId: "bob" } });
  assert.deepEqual([ids(whole.threads), whole.perPage], [["t4"], false]);
  await storage.updateThread({ id: "t1", title: "touched" });
  assert.equal((await storage.listThreads({ orderBy: { field: "updatedAt", direction: "DESC" } })).threads[0]?.id, "t1");
  await assert.rejects(storage.listThreads({ page: -1 }));
});

test("listThreads filters by metadata, all of it, with equal JSON", async () => {
  const { storage } = fresh();
  await storage.saveThread({ thread: thread("t1", { metadata: { kind: "a", n: 1 } }) });
  await storage.saveThread({ thread: thread("t2", { metadata: { kind: "a", n: "1" } }) });
  await storage.saveThread({ thread: thread("t3", { metadata: { nested: { a: [1] } } }) });
  assert.deepEqual(ids((await storage.listThreads({ filter: { metadata: { kind: "a", n: 1 } } })).threads), ["t1"]);
  assert.deepEqual(ids((await storage.listThreads({ filter: { metadata: { nested: { a: [1] } } } })).threads), ["t3"]);
  await assert.rejects(storage.listThreads({ filter: { metadata: { "a-b": 1 } } }));
});

test("deleteThread deletes its messages, which can be saved again elsewhere", async () => {
  const { storage } = fresh();
  await storage.saveThread({ thread: thread("t1") });
  await storage.saveMessages({ messages: [message("m1", 1)] });
  await storage.deleteThread({ threadId: "t1" });
  await storage.deleteThread({ threadId: "t1" });
  assert.equal(await storage.getThreadById({ threadId: "t1" }), null);
  assert.deepEqual((await storage.listMessagesById({ messageIds: ["m1"] })).messages, []);
  await storage.saveThread({ thread: thread("t2") });
  await storage.saveMessages({ messages: [message("m1", 1, { threadId: "t2" })] });
  assert.deepEqual(await listed(storage, { threadId: "t2" }), ["m1"]);
});

test("messages come back equal, in the order of their times", async () => {
  const { storage, again } = fresh();
  await storage.saveThread({ thread: thread("t1") });
  const messages = [
    message("m1", 1, { content: { format: 2, parts: [{ type: "text", text: "a \u0000 🌞" }], content: "a", metadata: { kind: "x", n: 0.1 } } }),
    called("m2", 2, { state: "result", result: { found: [1, null] } }),
    message("m3", 3, { role: "assistant", type: "v2", content: { format: 2, parts: [{ type: "reasoning", reasoning: "Hm.", details: [] }, { type: "step-start" }] } } as Partial<MastraDBMessage>),
    message("m4", 3, { role: "system" }),
  ];
  assert.deepEqual(await storage.saveMessages({ messages: [messages[3]!, messages[1]!] }), { messages: [messages[3], messages[1]] });
  await storage.saveMessages({ messages: [messages[0]!, messages[2]!] });
  const { messages: found } = await again().listMessages({ threadId: "t1" });
  assert.deepEqual(found, [messages[0], messages[1], messages[3], messages[2]]);
  assert.ok(found.every(({ createdAt }) => createdAt instanceof Date));
});

test("listMessages pages: 40 by default, false for all, 0 for none", async () => {
  const { storage } = fresh();
  await storage.saveMessages({ messages: Array.from({ length: 45 }, (_, n) => message(`m${n}`, n)) });
  const first = await storage.listMessages({ threadId: "t1" });
  assert.deepEqual([first.messages.length, first.total, first.page, first.perPage, first.hasMore], [40, 45, 0, 40, true]);
  const last = await storage.listMessages({ threadId: "t1", page: 1 });
  assert.deepEqual([ids(last.messages), last.hasMore], [["m40", "m41", "m42", "m43", "m44"], false]);
  const all = await storage.listMessages({ threadId: "t1", perPage: false });
  assert.deepEqual([all.messages.length, all.perPage, all.hasMore], [45, false, false]);
  const newest = await storage.listMessages({ threadId: "t1", perPage: 2, orderBy: { field: "createdAt", direction: "DESC" }, includeTotal: false });
  assert.deepEqual([ids(newest.messages), newest.hasMore], [["m44", "m43"], true]);
  assert.deepEqual((await storage.listMessages({ threadId: "t1", perPage: 0 })).messages, []);
  await assert.rejects(storage.listMessages({ threadId: "t1", page: -1 }));
  await assert.rejects(storage.listMessages({ threadId: " " }), /non-empty/);
  await assert.rejects(storage.listMessages({ threadId: [] }), /non-empty/);
});

test("the newest messages are those of the latest times, also if they were saved first", async () => {
  const { storage } = fresh();
  await storage.saveMessages({ messages: [message("late", 100)] });
  await storage.saveMessages({ messages: Array.from({ length: 20 }, (_, n) => message(`m${n}`, n)) });
  assert.deepEqual(await listed(storage, { perPage: 3, orderBy: { field: "createdAt", direction: "DESC" }, includeTotal: false }), ["late", "m19", "m18"]);
});

test("listMessages of several threads and of a resource", async () => {
  const { storage } = fresh();
  await storage.saveThread({ thread: thread("t1") });
  await storage.saveThread({ thread: thread("t2") });
  await storage.saveThread({ thread: thread("t3", { resourceId: "bob" }) });
  await storage.saveMessages({ messages: [message("m1", 1), message("m3", 3), message("m2", 2, { threadId: "t2" }), message("m4", 4, { threadId: "t3", resourceId: "bob" })] });
  assert.deepEqual(await listed(storage, { threadId: ["t1", "t2"] }), ["m1", "m2", "m3"]);
  assert.deepEqual(await listed(storage, { threadId: "t1", resourceId: "bob" }), []);
  const { messages, total } = await storage.listMessagesByResourceId({ resourceId: "alice", perPage: 2 });
  assert.deepEqual([ids(messages), total], [["m1", "m2"], 3]);
});

test("listMessages filters by dates, inclusive unless it says otherwise", async () => {
  const { storage } = fresh();
  await storage.saveMessages({ messages: [1, 2, 3, 4].map((n) => message(`m${n}`, n)) });
  const within = (dateRange: object) => listed(storage, { filter: { dateRange } });
  assert.deepEqual(await within({ start: at(2), end: at(3) }), ["m2", "m3"]);
  assert.deepEqual(await within({ start: at(2), startExclusive: true }), ["m3", "m4"]);
  assert.deepEqual(await within({ end: at(3), endExclusive: true }), ["m1", "m2"]);
});

test("listMessages filters by metadata, with exact types and safe keys of at most 128 characters", async () => {
  const { storage } = fresh();
  const tagged = (id: string, metadata: Record<string, unknown>) => message(id, 1, { content: { format: 2, parts: [], metadata } });
  await storage.saveMessages({ messages: [tagged("m1", { n: 1, ok: true }), tagged("m2", { n: "1" }), tagged("m3", { none: null })] });
  const where = (metadata: object) => listed(storage, { filter: { metadata } });
  assert.deepEqual(await where({ n: 1 }), ["m1"]);
  assert.deepEqual(await where({ n: "1" }), ["m2"]);
  assert.deepEqual(await where({ n: 1, ok: false }), []);
  assert.deepEqual(await where({ none: null }), ["m3"]);
  for (const key of ["a-b", "1a", "x".repeat(129), "__proto__x y"]) await assert.rejects(where({ [key]: 1 }), TypeError);
});

test("listMessages includes messages of any thread with those around them, once each", async () => {
  const { storage } = fresh();
  await storage.saveThread({ thread: thread("t1") });
  await storage.saveThread({ thread: thread("t2", { resourceId: "bob" }) });
  await storage.saveMessages({ messages: [1, 2, 3, 4, 5].map((n) => message(`m${n}`, n)) });
  await storage.saveMessages({ messages: [message("x1", 6, { threadId: "t2", resourceId: "bob" })] });
  const include = [{ id: "m3", withPreviousMessages: 1, withNextMessages: 1 }, { id: "m4" }, { id: "nowhere" }];
  assert.deepEqual(await listed(storage, { perPage: 0, include }), ["m2", "m3", "m4"]);
  assert.deepEqual(await listed(storage, { perPage: 1, include }), ["m1", "m2", "m3", "m4"]);
  assert.deepEqual(await listed(storage, { perPage: 0, include: [{ id: "x1" }] }), ["x1"]);
  assert.deepEqual(await listed(storage, { perPage: 0, resourceId: "alice", include: [{ id: "x1" }] }), []);
});

test("saveMessages of a stored id replaces the message, whatever the number of its events", async () => {
  const { client, storage, again } = fresh();
  await storage.saveMessages({ messages: [message("m1", 1), called("m2", 2, { state: "call" }), message("m3", 3)] });
  await again().saveMessages({ messages: [called("m2", 2, { state: "result", result: 7 })] });
  const [, done] = (await storage.listMessages({ threadId: "t1" })).messages;
  assert.deepEqual(done, called("m2", 2, { state: "result", result: 7 }));
  await again().saveMessages({ messages: [message("m2", 2)] });
  assert.deepEqual((await storage.listMessages({ threadId: "t1" })).messages[1], message("m2", 2));
  const shown: unknown[] = [];
  for await (const event of client.session({ app: client.app, userId: "alice", sessionId: "t1" }).events({ filter: { view: "active" } })) {
    if (event.message!.parts.length > 0) shown.push([event.message?.role, event.eventId]);
  }
  assert.deepEqual(shown, [[Role.USER, "m1"], [Role.USER, "m2"], [Role.USER, "m3"]]);
});

test("saveMessages of a stored id with another thread moves the message", async () => {
  const { storage } = fresh();
  await storage.saveThread({ thread: thread("t1") });
  await storage.saveThread({ thread: thread("t2") });
  await storage.saveMessages({ messages: [message("m1", 1)] });
  await storage.saveMessages({ messages: [message("m1", 1, { threadId: "t2" })] });
  assert.deepEqual(await listed(storage), []);
  assert.deepEqual(await listed(storage, { threadId: "t2" }), ["m1"]);
});

test("saveMessages touches the thread's update time, and refuses a message without a thread", async () => {
  const { storage } = fresh();
  await storage.saveThread({ thread: thread("t1") });
  const before = (await storage.getThreadById({ threadId: "t1" }))!.updatedAt;
  await storage.saveMessages({ messages: [message("m1", 1)] });
  assert.ok((await storage.getThreadById({ threadId: "t1" }))!.updatedAt > before);
  const { threadId: _, ...without } = message("m2", 2);
  await assert.rejects(storage.saveMessages({ messages: [without as MastraDBMessage] }), /threadId/);
});

test("twenty saves to one thread at the same time are all stored", async () => {
  const { storage, again } = fresh();
  await storage.saveThread({ thread: thread("t1") });
  await Promise.all(Array.from({ length: 20 }, (_, n) => again().saveMessages({ messages: [message(`m${n}`, n)] })));
  assert.equal((await listed(storage, { perPage: false })).length, 20);
});

test("saveMessages repeated stores nothing twice", async () => {
  const { storage, again } = fresh();
  for (let n = 0; n < 3; n += 1) await again().saveMessages({ messages: [message("m1", 1), called("m2", 2, { state: "result", result: 1 })] });
  assert.deepEqual(await listed(storage), ["m1", "m2"]);
});

test("listMessagesById finds messages of all threads, and leaves out unknown ids", async () => {
  const { storage } = fresh();
  await storage.saveThread({ thread: thread("t2", { resourceId: "bob" }) });
  await storage.saveMessages({ messages: [message("m1", 1), message("m2", 2), message("x1", 3, { threadId: "t2", resourceId: "bob" })] });
  assert.deepEqual(ids((await storage.listMessagesById({ messageIds: ["x1", "m1", "nowhere"] })).messages), ["m1", "x1"]);
});

test("updateMessages merges content and metadata, and can move a message", async () => {
  const { storage } = fresh();
  await storage.saveThread({ thread: thread("t2") });
  await storage.saveMessages({ messages: [message("m1", 1, { content: { format: 2, parts: [{ type: "text", text: "a" }], metadata: { x: 1, y: 1 } } })] });
  const [updated] = await storage.updateMessages({ messages: [{ id: "m1", role: "assistant", content: { metadata: { y: 2 }, content: "b" } as unknown as MastraDBMessage["content"] }, { id: "nowhere" }] });
  assert.deepEqual([updated?.role, updated?.content], ["assistant", { format: 2, parts: [{ type: "text", text: "a" }], metadata: { x: 1, y: 2 }, content: "b" }]);
  assert.deepEqual((await storage.listMessages({ threadId: "t1" })).messages, [updated]);
  await storage.updateMessages({ messages: [{ id: "m1", threadId: "t2" }] });
  assert.deepEqual([await listed(storage), await listed(storage, { threadId: "t2" })], [[], ["m1"]]);
});

test("updateMessages of several processes at the same time loses no metadata", async () => {
  const { storage, again } = fresh();
  await storage.saveMessages({ messages: [message("m1", 1)] });
  const update = (n: number) => again().updateMessages({ messages: [{ id: "m1", content: { metadata: { [`k${n}`]: n } } as unknown as MastraDBMessage["content"] }] });
  await Promise.all(Array.from({ length: 5 }, (_, n) => update(n)));
  const [found] = (await storage.listMessages({ threadId: "t1" })).messages;
  assert.equal(Object.keys(found?.content.metadata ?? {}).length, 5);
});

test("deleteMessages deletes messages for good, and they can be saved again", async () => {
  const { client, storage } = fresh();
  await storage.saveMessages({ messages: [message("m1", 1), called("m2", 2, { state: "result", result: "secret" }), message("m3", 3)] });
  await storage.deleteMessages(["m2", "nowhere"]);
  await storage.deleteMessages([]);
  assert.deepEqual(await listed(storage), ["m1", "m3"]);
  for await (const event of client.session({ app: client.app, userId: "alice", sessionId: "t1" }).events()) assert.doesNotMatch(new TextDecoder().decode(event.native?.content), /secret/);
  await storage.saveMessages({ messages: [message("m2", 2)] });
  assert.deepEqual(await listed(storage), ["m1", "m2", "m3"]);
});

test("copyThread mints new message ids, keeps the newest with a limit, and records the clone", async () => {
  const { storage } = fresh();
  await storage.saveThread({ thread: thread("t1", { metadata: { kind: "x" } }) });
  await storage.saveMessages({ messages: [1, 2, 3, 4].map((n) => message(`m${n}`, n)) });
  const { thread: copy, messageIdMap } = await storage.copyThread({ sourceThreadId: "t1", newThreadId: "t2", metadata: { own: 1 }, options: { messageLimit: 2 } });
  assert.deepEqual([copy.title, copy.resourceId, Object.keys(messageIdMap!)], ["Clone of about t1", "alice", ["m3", "m4"]]);
  const { metadata } = (await storage.getThreadById({ threadId: "t2" }))!;
  const clone = metadata!["clone"] as Record<string, unknown>;
  assert.deepEqual([metadata!["own"], metadata!["kind"], clone["sourceThreadId"], clone["lastMessageId"]], [1, undefined, "t1", "m4"]);
  const { messages } = await storage.listMessages({ threadId: "t2" });
  assert.deepEqual(ids(messages), Object.values(messageIdMap!));
  assert.deepEqual(messages.map(({ content }) => content), [message("m3", 3).content, message("m4", 4).content]);
  await assert.rejects(storage.copyThread({ sourceThreadId: "t1", newThreadId: "t2" }), /already exists/);
  await assert.rejects(storage.copyThread({ sourceThreadId: "nowhere" }), /not found/);
});

test("cloneThread returns the messages of the copy, filtered, for another resource", async () => {
  const { storage } = fresh();
  await storage.saveThread({ thread: thread("t1") });
  await storage.saveMessages({ messages: [1, 2, 3].map((n) => message(`m${n}`, n)) });
  const options = { messageFilter: { startDate: at(2), messageIds: ["m1", "m2"] } };
  const { thread: copy, clonedMessages } = await storage.cloneThread({ sourceThreadId: "t1", resourceId: "bob", title: "mine", options });
  assert.deepEqual([copy.resourceId, copy.title, clonedMessages.map(({ content }) => content)], ["bob", "mine", [message("m2", 2).content]]);
  assert.ok(clonedMessages.every(({ resourceId, threadId }) => resourceId === "bob" && threadId === copy.id));
});

test("updateThreadResourceId moves a thread with its messages, and keeps its creation time", async () => {
  const { storage, again } = fresh();
  await storage.saveThread({ thread: thread("t1") });
  await storage.saveMessages({ messages: [message("m1", 1)] });
  const moved = await storage.updateThreadResourceId({ threadId: "t1", resourceId: "bob" });
  assert.deepEqual([moved.resourceId, moved.createdAt], ["bob", at(0)]);
  assert.deepEqual((await again().listMessages({ threadId: "t1", resourceId: "bob" })).messages, [message("m1", 1, { resourceId: "bob" })]);
  await assert.rejects(storage.updateThreadResourceId({ threadId: "nowhere", resourceId: "bob" }), /not found/);
});

test("resources keep working memory and metadata, which updates merge", async () => {
  const { storage } = fresh();
  assert.equal(await storage.getResourceById({ resourceId: "alice" }), null);
  const created = await storage.updateResource({ resourceId: "alice", workingMemory: "likes tea" });
  assert.deepEqual([created.workingMemory, created.metadata, created.createdAt instanceof Date], ["likes tea", {}, true]);
  const updated = await storage.updateResource({ resourceId: "alice", metadata: { a: 1 } });
  assert.deepEqual([updated.workingMemory, updated.metadata, updated.createdAt], ["likes tea", { a: 1 }, created.createdAt]);
  const saved = { id: "alice", workingMemory: "likes coffee", metadata: { b: 2 }, createdAt: at(0), updatedAt: at(1) };
  await storage.saveResource({ resource: saved });
  assert.deepEqual(await storage.getResourceById({ resourceId: "alice" }), saved);
});

test("thread state has one value per thread and type, and leaves metadata alone", async () => {
  const { client, storage } = fresh();
  const state = new ThreadkeepThreadState(client);
  await storage.saveThread({ thread: thread("t1", { metadata: { a: 1 } }) });
  assert.equal(await state.getState({ threadId: "t1", type: "task" }), undefined);
  await state.setState({ threadId: "t1", type: "task", value: [{ id: "1" }] });
  await state.setState({ threadId: "t1", type: "goal", value: null });
  assert.deepEqual([await state.getState({ threadId: "t1", type: "task" }), await state.getState({ threadId: "t1", type: "goal" })], [[{ id: "1" }], null]);
  await state.deleteState({ threadId: "t1", type: "task" });
  assert.equal(await state.getState({ threadId: "t1", type: "task" }), undefined);
  assert.deepEqual((await storage.getThreadById({ threadId: "t1" }))?.metadata, { a: 1 });
  await assert.rejects(state.setState({ threadId: "nowhere", type: "task", value: 1 }), /not found/);
});

test("dangerouslyClearAll deletes threads, messages and resources of the app, and nothing else", async () => {
  const { client, storage } = fresh();
  await storage.saveThread({ thread: thread("t1") });
  await storage.saveMessages({ messages: [message("m1", 1)] });
  await storage.updateResource({ resourceId: "alice", workingMemory: "x" });
  await client.session("other").append(user("stays"), { createIfMissing: true });
  await storage.dangerouslyClearAll();
  assert.deepEqual((await storage.listThreads({})).threads, []);
  assert.deepEqual((await storage.listMessagesById({ messageIds: ["m1"] })).messages, []);
  assert.equal(await storage.getResourceById({ resourceId: "alice" }), null);
  assert.equal((await client.session("other").get()).ref?.sessionId, "other");
});

test("the store offers memory and thread state, and no observational memory", async () => {
  const { client, storage } = fresh();
  const store = new ThreadkeepStore(client);
  assert.ok((await store.getStore("memory")) instanceof ThreadkeepMemoryStorage);
  assert.ok((await store.getStore("threadState")) instanceof ThreadkeepThreadState);
  assert.equal(storage.supportsObservationalMemory, false);
  await assert.rejects(storage.getObservationalMemory("t1", "alice"), /not implemented/);
});

test("a conversation of another framework is a thread, its events are messages", async () => {
  const { client, storage } = fresh();
  const session = client.session({ app: client.app, userId: "alice", sessionId: newEventId() });
  await session.append(
    [user("Is it?", { eventId: "u" }), assistant(["Let me look.", toolCall("c1", "find", {})], { eventId: "a" }), toolResult("c1", "yes"), assistant("It is.")],
    { createIfMissing: true },
  );
  const { messages } = await storage.listMessages({ threadId: session.id, resourceId: "alice" });
  assert.deepEqual(ids(messages), ["u", "a"]);
  assert.deepEqual(messages[1]?.content.parts, [
    { type: "step-start" },
    { type: "text", text: "Let me look." },
    { type: "tool-invocation", toolInvocation: { state: "result", toolCallId: "c1", toolName: "find", args: {}, result: "yes" } },
    { type: "step-start" },
    { type: "text", text: "It is." },
  ]);
});

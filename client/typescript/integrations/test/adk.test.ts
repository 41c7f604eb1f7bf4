// The session and memory services of @google/adk, in Threadkeep: what ADK's own services for TypeScript do, line by line.

import assert from "node:assert/strict";
import { test } from "node:test";

import { createEvent, createEventActions, type CreateEventParams, type Event, type Session } from "@google/adk";
import { assistant, media, toolCall, toolError, user, type Client, type SessionEvent } from "@threadkeep/client";

import { ThreadkeepMemoryService, ThreadkeepSessionService } from "../src/adk.js";
import { freshClient } from "./support.js";

const KEY = { appName: "shop", userId: "ada", sessionId: "s1" };

function fresh(): { client: Client; service: ThreadkeepSessionService; key: typeof KEY } {
  const client = freshClient();
  return { client, service: new ThreadkeepSessionService(client), key: { ...KEY, appName: client.app } };
}

const said = (text: string, more: CreateEventParams = {}): Event =>
  createEvent({ author: "user", invocationId: "i1", content: { role: "user", parts: [{ text }] }, ...more });
const changing = (stateDelta: Record<string, unknown>, more: CreateEventParams = {}): Event =>
  createEvent({ author: "agent", invocationId: "i1", actions: createEventActions({ stateDelta }), ...more });
const texts = (session: Session | undefined) => session?.events.map((event) => event.content?.parts?.[0]?.text);
const plain = (values: Record<string, unknown>) => ({ ...values });

async function eventsOf(client: Client, key: typeof KEY): Promise<SessionEvent[]> {
  const found: SessionEvent[] = [];
  for await (const event of client.session({ app: key.appName, userId: key.userId, sessionId: key.sessionId }).events()) found.push(event);
  return found;
}

test("get of a missing session is undefined, and a deletion of it does nothing", async () => {
  const { service, key } = fresh();
  assert.equal(await service.getSession(key), undefined);
  await service.deleteSession(key);
});

test("an event comes back equal, with every field", async () => {
  const { service, key } = fresh();
  const session = await service.createSession(key);
  const event = createEvent({
    author: "agent", invocationId: "i1", branch: "a.b", timestamp: 1_700_000_000_123, longRunningToolIds: ["c1"], turnComplete: true,
    content: {
      role: "model",
      parts: [
        { text: "Hm.", thought: true, thoughtSignature: "c2ln" },
        { functionCall: { id: "c1", name: "find", args: { snake_case: 1, nested: [null] } } },
        { functionResponse: { id: "c1", name: "find", response: { result: { celsius: 21 } } } },
        { inlineData: { mimeType: "image/png", data: "AQI=" } },
        { executableCode: { code: "1 + 1" } },
      ],
    },
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
    customMetadata: { any: { thing: true } },
    actions: createEventActions({ stateDelta: { cart: 1 }, artifactDelta: { "a.txt": 2 }, transferToAgent: "other" }),
  });
  await service.appendEvent({ session, event: structuredClone(event) });
  const stored = (await service.getSession(key))!.events[0]!;
  assert.deepEqual(JSON.parse(JSON.stringify(stored)), JSON.parse(JSON.stringify(event)));
  assert.equal(stored.timestamp, 1_700_000_000_123);
});

test("afterTimestamp is inclusive, in milliseconds", async () => {
  const { service, key } = fresh();
  const session = await service.createSession(key);
  for (const timestamp of [1000, 2000, 3000]) await service.appendEvent({ session, event: said(`${timestamp}`, { timestamp }) });
  assert.deepEqual(texts(await service.getSession({ ...key, config: { afterTimestamp: 2000 } })), ["2000", "3000"]);
  assert.deepEqual(texts(await service.getSession({ ...key, config: { afterTimestamp: 2001 } })), ["3000"]);
});

test("numRecentEvents returns the newest events in order, and zero all", async () => {
  const { service, key } = fresh();
  const session = await service.createSession(key);
  for (let place = 0; place < 5; place += 1) await service.appendEvent({ session, event: said(`${place}`) });
  assert.deepEqual(texts(await service.getSession({ ...key, config: { numRecentEvents: 2 } })), ["3", "4"]);
  assert.deepEqual(texts(await service.getSession({ ...key, config: { numRecentEvents: 9 } })), ["0", "1", "2", "3", "4"]);
  assert.equal((await service.getSession({ ...key, config: { numRecentEvents: 0 } }))?.events.length, 5);
});

test("state is of the session, the user and the app, and temp: keys are dropped, also at creation", async () => {
  const { service, key } = fresh();
  const session = await service.createSession({ ...key, state: { own: 1, "user:seat": "window", "app:currency": "EUR", "temp:draft": true } });
  assert.deepEqual(plain(session.state), { own: 1, "app:currency": "EUR", "user:seat": "window" });
  const event = await service.appendEvent({ session, event: changing({ own: 2, "user:seat": "aisle", "temp:draft": 1, list: { a: [1] } }) });
  assert.deepEqual(plain(event.actions.stateDelta), { own: 2, "user:seat": "aisle", list: { a: [1] } });
  assert.deepEqual(plain(session.state), { own: 2, "app:currency": "EUR", "user:seat": "aisle", list: { a: [1] } });
  assert.deepEqual(plain((await service.getSession(key))!.state), plain(session.state));
  const other = await service.createSession({ ...key, sessionId: "s2" });
  assert.deepEqual(plain(other.state), { "app:currency": "EUR", "user:seat": "aisle" });
  const another = await service.createSession({ ...key, userId: "bob", sessionId: "s1" });
  assert.deepEqual(plain(another.state), { "app:currency": "EUR" });
});

test("a null in a delta is stored as null, and dictionaries are replaced", async () => {
  const { service, key } = fresh();
  const session = await service.createSession({ ...key, state: { map: { a: 1 }, kept: true, gone: 1 } });
  await service.appendEvent({ session, event: changing({ map: { b: 2 }, gone: null }) });
  assert.deepEqual(plain((await service.getSession(key))!.state), { map: { b: 2 }, kept: true, gone: null });
});

test("a second session with an id is refused, and one without an id gets one", async () => {
  const { service, key } = fresh();
  await service.createSession(key);
  await assert.rejects(service.createSession(key), { message: "Session with id s1 already exists." });
  const { id } = await service.createSession({ appName: key.appName, userId: key.userId });
  assert.ok(id.length > 0);
});

test("getOrCreateSession of ten callers creates one session", async () => {
  const { service, key } = fresh();
  const sessions = await Promise.all(Array.from({ length: 10 }, () => service.getOrCreateSession({ ...key, state: { n: 1 } })));
  assert.ok(sessions.every(({ id, state }) => id === "s1" && state["n"] === 1));
  assert.equal((await service.listSessions({ appName: key.appName })).totalItems, 1);
});

test("a partial event is not stored", async () => {
  const { service, key } = fresh();
  const session = await service.createSession(key);
  await service.appendEvent({ session, event: said("Hel", { partial: true }) });
  assert.deepEqual([session.events, (await service.getSession(key))!.events], [[], []]);
});

test("an event with the id of a stored one replaces it in its place, with its changes of state", async () => {
  const { service, key } = fresh();
  const session = await service.createSession(key);
  await service.appendEvent({ session, event: said("one", { id: "e1" }) });
  await service.appendEvent({ session, event: said("two", { id: "e2" }) });
  await service.appendEvent({ session, event: said("uno", { id: "e1", actions: createEventActions({ stateDelta: { n: 1, "user:n": 2 } }) }) });
  const stored = await service.getSession(key);
  assert.deepEqual([texts(session), texts(stored)], [["uno", "two"], ["uno", "two"]]);
  assert.deepEqual([plain(session.state), plain(stored!.state)], [{ n: 1, "user:n": 2 }, { n: 1, "user:n": 2 }]);
  await service.appendEvent({ session, event: said("three", { id: "e3" }) });
  assert.deepEqual(texts(await service.getSession(key)), ["uno", "two", "three"]);
});

test("the same event appended again is stored once", async () => {
  const { client, service, key } = fresh();
  const session = await service.createSession(key);
  const event = said("once", { id: "e1" });
  for (let time = 0; time < 3; time += 1) await service.appendEvent({ session, event });
  assert.equal((await eventsOf(client, key)).length, 1);
  assert.deepEqual(texts(session), ["once"]);
});

test("a stale session is read again, and its append is stored", async () => {
  const { service, key } = fresh();
  const first = await service.createSession(key);
  const second = (await service.getSession(key))!;
  await service.appendEvent({ session: first, event: said("one", { timestamp: 1000 }) });
  await service.appendEvent({ session: second, event: changing({ n: 2 }, { timestamp: 500 }) });
  await service.appendEvent({ session: first, event: said("three", { timestamp: 1000 }) });
  assert.deepEqual(texts(first), ["one", undefined, "three"]);
  assert.deepEqual(first.state["n"], 2);
  assert.deepEqual(texts(await service.getSession(key)), texts(first));
});

test("twenty appends of copies of a session at the same time are all stored", async () => {
  const { service, key } = fresh();
  await service.createSession(key);
  const copies = await Promise.all(Array.from({ length: 20 }, () => service.getSession(key)));
  await Promise.all(copies.map((copy, place) => service.appendEvent({ session: copy!, event: said(`${place}`) })));
  const stored = texts(await service.getSession(key))!.map(Number).sort((left, right) => left - right);
  assert.deepEqual(stored, Array.from({ length: 20 }, (_, place) => place));
});

test("an append to a deleted session fails", async () => {
  const { service, key } = fresh();
  const session = await service.createSession(key);
  await service.deleteSession(key);
  await assert.rejects(service.appendEvent({ session, event: said("late") }), { message: "Session s1 not found for appendEvent" });
  assert.deepEqual(session.events, []);
});

test("the update time is that of the event", async () => {
  const { service, key } = fresh();
  const session = await service.createSession(key);
  assert.ok(Math.abs(session.lastUpdateTime - Date.now()) < 60_000);
  await service.appendEvent({ session, event: said("past", { timestamp: 1234.5 }) });
  assert.deepEqual([session.lastUpdateTime, (await service.getSession(key))!.lastUpdateTime], [1234.5, 1234.5]);
});

async function withSessions(): Promise<{ service: ThreadkeepSessionService; appName: string }> {
  const { service, key } = fresh();
  for (const [sessionId, userId, timestamp] of [["b", "ada", 1000], ["a", "ada", 1000], ["c", "bob", 2000], ["d", "ada", 3000]] as const) {
    const session = await service.createSession({ appName: key.appName, userId, sessionId, state: { of: sessionId } });
    await service.appendEvent({ session, event: said(sessionId, { timestamp }) });
  }
  return { service, appName: key.appName };
}

test("list orders by update time both ways, ties by id, with merged state and without events", async () => {
  const { service, appName } = await withSessions();
  const ids = async (order?: "asc" | "desc", userId?: string) =>
    (await service.listSessions({ appName, ...(userId ? { userId } : {}), ...(order ? { order } : {}) })).sessions.map(({ id }) => id);
  assert.deepEqual(await ids("asc"), ["a", "b", "c", "d"]);
  assert.deepEqual(await ids("desc"), ["d", "c", "a", "b"]);
  assert.deepEqual(await ids("asc", "ada"), ["a", "b", "d"]);
  assert.deepEqual(await ids(undefined, "nobody"), []);
  const { sessions } = await service.listSessions({ appName, userId: "bob" });
  assert.deepEqual([plain(sessions[0]!.state), sessions[0]!.events, sessions[0]!.lastUpdateTime], [{ of: "c" }, [], 2000]);
});

test("list has pages by limit and offset, or by number, which wins", async () => {
  const { service, appName } = await withSessions();
  const page = async (request: { limit?: number; offset?: number; page?: number }) => {
    const { sessions, ...counts } = await service.listSessions({ appName, order: "asc", ...request });
    return [sessions.map(({ id }) => id), counts];
  };
  const counts = { totalItems: 4, limit: 3, totalPages: 2 };
  assert.deepEqual(await page({ limit: 3 }), [["b", "a", "c"], { ...counts, page: 1 }]);
  assert.deepEqual(await page({ limit: 3, offset: 3 }), [["d"], { ...counts, page: 2 }]);
  assert.deepEqual(await page({ limit: 3, page: 2, offset: 0 }), [["d"], { ...counts, page: 2 }]);
  assert.deepEqual(await page({ limit: 0 }), [[], { totalItems: 4, limit: 0, page: 1, totalPages: 0 }]);
  assert.deepEqual(await page({ offset: 3 }), [["d"], { totalItems: 4, limit: 4, page: 1, totalPages: 1 }]);
  assert.deepEqual((await service.listSessions({ appName: "none" })).totalPages, 0);
});

test("the events of other frameworks are ADK's kind of message", async () => {
  const { client, service, key } = fresh();
  const ref = { app: key.appName, userId: key.userId, sessionId: key.sessionId };
  await client.session(ref).append(
    [
      user(["Look.", media("image/png", { data: new Uint8Array([1, 2]) })]),
      assistant(["Hm.", toolCall("c1", "find", { a: 1 })], { author: "planner" }),
      toolError("c1", "offline"),
    ],
    { createIfMissing: true },
  );
  const { events } = (await service.getSession(key))!;
  assert.deepEqual(events.map(({ author, content }) => [author, content?.role, content?.parts]), [
    ["user", "user", [{ text: "Look." }, { inlineData: { mimeType: "image/png", data: "AQI=" } }]],
    ["planner", "model", [{ text: "Hm." }, { functionCall: { id: "c1", name: "find", args: { a: 1 } } }]],
    ["assistant", "user", [{ functionResponse: { id: "c1", name: "find", response: { error: "offline" } } }]],
  ]);
});

test("the events of ADK for Python come back with their actions, in milliseconds", async () => {
  const { client, service, key } = fresh();
  const item = {
    id: "e1", author: "agent", invocation_id: "i1", timestamp: 1_700_000_000.123, long_running_tool_ids: ["c1"],
    content: {
      role: "model",
      parts: [{ function_call: { id: "c1", name: "find", args: { snake_case: 1 } } }, { inline_data: { mime_type: "image/png", data: "-_8" } }],
    },
    actions: { state_delta: { snake_key: 1 }, transfer_to_agent: "other" },
  };
  const native = { format: "adk.event/1", content: new TextEncoder().encode(JSON.stringify(item)) };
  const ref = { app: key.appName, userId: key.userId, sessionId: key.sessionId };
  await client.session(ref).append({ eventId: "e1", message: { role: 2 }, native }, { createIfMissing: true });
  const event = (await service.getSession(key))!.events[0]!;
  assert.deepEqual([event.invocationId, event.timestamp, event.longRunningToolIds], ["i1", 1_700_000_000_123, ["c1"]]);
  assert.deepEqual(event.content?.parts?.[0]?.functionCall?.args, { snake_case: 1 });
  assert.deepEqual(event.content?.parts?.[1]?.inlineData, { mimeType: "image/png", data: "+/8=" });
  assert.deepEqual([event.actions.stateDelta, event.actions.transferToAgent], [{ snake_key: 1 }, "other"]);
});

test("memory finds events of a session that was added, once, and of one that Threadkeep does not keep", async () => {
  const { client, service, key } = fresh();
  const memory = new ThreadkeepMemoryService(client);
  const session = await service.createSession(key);
  await service.appendEvent({ session, event: said("I prefer a window seat.", { timestamp: 1_700_000_000_000 }) });
  await memory.addSessionToMemory(session);
  await memory.addSessionToMemory(session);
  const elsewhere = { ...session, id: "elsewhere", events: [said("A window on the left.", { id: "e9" })] };
  await memory.addSessionToMemory(elsewhere);
  await memory.addSessionToMemory(elsewhere);
  const { memories } = await memory.searchMemory({ appName: key.appName, userId: key.userId, query: "window" });
  assert.deepEqual(memories.map(({ content }) => content.parts?.[0]?.text).sort(), ["A window on the left.", "I prefer a window seat."]);
  const found = memories.find(({ content }) => content.parts?.[0]?.text?.startsWith("I prefer"));
  assert.deepEqual([found?.author, found?.content.role, found?.timestamp], ["user", "user", "2023-11-14T22:13:20.000Z"]);
  assert.deepEqual((await memory.searchMemory({ appName: key.appName, userId: "bob", query: "window" })).memories, []);
});

// Lines of the contract of @openai/agents, each with a session in Threadkeep.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { AgentInputItem, SessionHistoryTransactionArgs } from "@openai/agents";
import { assistant, media, newEventId, reasoning, system, toolCall, toolResult, user, type Client } from "@threadkeep/client";

import { ThreadkeepSession } from "../src/openai-agents.js";
import { freshClient } from "./support.js";

type Call = Extract<AgentInputItem, { type: "function_call" }>;

const said = (text: string): AgentInputItem => ({ type: "message", role: "user", content: text });
const call = (callId: string, args = "{}"): Call => ({ type: "function_call", callId, name: "find", arguments: args, status: "completed" });
const result = (callId: string, output: string): AgentInputItem => ({
  type: "function_call_result", callId, name: "find", status: "completed", output,
});
const append = (operationId: string, ...items: AgentInputItem[]): SessionHistoryTransactionArgs => ({
  operationId, transaction: { type: "append_items", items },
});
const replace = (operationId: string, expectedSuffix: AgentInputItem[], replacement: AgentInputItem[]): SessionHistoryTransactionArgs => ({
  operationId, transaction: { type: "replace_suffix", expectedSuffix, replacement },
});

function fresh(...options: [client?: Client]): { client: Client; session: ThreadkeepSession; again: () => ThreadkeepSession } {
  const client = options[0] ?? freshClient();
  const sessionId = newEventId();
  const again = () => new ThreadkeepSession(client, { sessionId });
  return { client, session: again(), again };
}

test("getSessionId returns the given id, or a new one", async () => {
  const client = freshClient();
  assert.equal(await new ThreadkeepSession(client, { sessionId: "trip" }).getSessionId(), "trip");
  const own = new ThreadkeepSession(client);
  assert.equal(await own.getSessionId(), await own.getSessionId());
  assert.notEqual(await own.getSessionId(), await new ThreadkeepSession(client).getSessionId());
});

test("getItems returns all items in order, and the newest with a limit", async () => {
  const { session, again } = fresh();
  assert.deepEqual(await session.getItems(), []);
  await session.addItems([said("one"), said("two")]);
  await session.addItems([said("three")]);
  assert.deepEqual(await again().getItems(), [said("one"), said("two"), said("three")]);
  assert.deepEqual(await again().getItems(2), [said("two"), said("three")]);
  assert.deepEqual(await again().getItems(9), [said("one"), said("two"), said("three")]);
  assert.deepEqual(await again().getItems(0), []);
  assert.deepEqual(await again().getItems(-1), []);
});

test("getItems of more items than a page has returns all in order", async () => {
  const { session } = fresh();
  const all = Array.from({ length: 2300 }, (_, place) => said(`item ${place}`));
  for (let at = 0; at < all.length; at += 500) await session.addItems(all.slice(at, at + 500));
  assert.deepEqual(await session.getItems(), all);
  assert.deepEqual(await session.getItems(1500), all.slice(-1500));
});

test("items with provider data and bytes come back equal", async () => {
  const { session, again } = fresh();
  const items: AgentInputItem[] = [
    { ...call("c1"), providerData: { raw: new Uint8Array([0, 255, 7]), nested: { $bytes: "a text", list: [1, null, "\u0000"] } } },
    { type: "hosted_tool_call", name: "web_search_call", id: "ws1", status: "completed", providerData: { type: "web_search" } },
    { type: "unknown", providerData: { type: "new_item", value: 0.1 } },
    {
      type: "function_call_result", callId: "c1", name: "find", status: "completed",
      output: { type: "image", image: { data: new Uint8Array([1, 2, 3]), mediaType: "image/webp" } },
    },
    { type: "compaction", encrypted_content: "sealed" },
  ];
  await session.addItems(items);
  assert.deepEqual(await again().getItems(), items);
});

test("addItems of nothing makes no session", async () => {
  const { client, session } = fresh();
  await session.addItems([]);
  const ids: string[] = [];
  for await (const each of client.sessions()) ids.push(each.ref!.sessionId);
  assert.deepEqual(ids, []);
});

test("twenty first appends at the same time are all stored", async () => {
  const { again } = fresh();
  const items = Array.from({ length: 20 }, (_, place) => said(`first ${place}`));
  await Promise.all(items.map((item) => again().addItems([item])));
  const texts = (await again().getItems()).map((item) => JSON.stringify(item));
  assert.deepEqual(texts.sort(), items.map((item) => JSON.stringify(item)).sort());
});

test("addItems repeated after an unknown outcome stores the items once", async () => {
  const { client, session, again } = fresh();
  await session.addItems([said("hello")]);
  const handle = Object.getPrototypeOf(client.session("x")) as { append: (...all: unknown[]) => Promise<unknown> };
  const original = handle.append;
  handle.append = async function lost(...all) {
    await original.apply(this, all);
    throw new Error("the answer is lost");
  };
  await assert.rejects(session.addItems([said("once")]), /the answer is lost/).finally(() => (handle.append = original));
  await session.addItems([said("once")]);
  await session.addItems([said("once")]);
  assert.deepEqual(await again().getItems(), [said("hello"), said("once"), said("once")]);
});

test("popItem returns the newest item, then the one before it, then undefined", async () => {
  const { session, again } = fresh();
  assert.equal(await session.popItem(), undefined);
  await session.addItems([call("c1"), result("c1", "found")]);
  assert.deepEqual(await again().popItem(), result("c1", "found"));
  assert.deepEqual(await again().getItems(), [call("c1")]);
  assert.deepEqual(await again().popItem(), call("c1"));
  assert.equal(await again().popItem(), undefined);
});

test("popItem of five callers returns each of five items once", async () => {
  const { session, again } = fresh();
  const items = Array.from({ length: 5 }, (_, place) => said(`item ${place}`));
  await session.addItems(items);
  const popped = await Promise.all(items.map(() => again().popItem()));
  assert.deepEqual(popped.map((item) => JSON.stringify(item)).sort(), items.map((item) => JSON.stringify(item)));
  assert.deepEqual(await session.getItems(), []);
});

test("popItem of another framework's event takes its last item only", async () => {
  const { client, session } = fresh();
  const answer = assistant(["Let me look.", toolCall("c1", "find", {}), toolCall("c2", "find", { deep: true })]);
  await client.session(await session.getSessionId()).append(answer, { createIfMissing: true });
  assert.deepEqual(await session.popItem(), call("c2", '{"deep":true}'));
  assert.deepEqual(await session.getItems(), [
    { type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: "Let me look." }] },
    call("c1"),
  ]);
});

test("clearSession removes all items, and the session can be used again", async () => {
  const { session } = fresh();
  await session.clearSession();
  await session.addItems([said("old")]);
  await session.clearSession();
  assert.deepEqual(await session.getItems(), []);
  await session.addItems([said("new")]);
  assert.deepEqual(await session.getItems(), [said("new")]);
});

test("events of other frameworks are items, in order", async () => {
  const { client, session } = fresh();
  await client.session(await session.getSessionId()).append(
    [
      system("Be brief."),
      user(["Look at this.", media("image/png", { data: new Uint8Array([1, 2]) }), media("application/pdf", { uri: "https://x.test/a.pdf" })]),
      assistant([reasoning("Hm."), "Yes.", toolCall("c1", "find", { a: 1 })], { author: "planner" }),
      toolResult("c1", { json: { found: true } }),
    ],
    { createIfMissing: true },
  );
  assert.deepEqual(await session.getItems(), [
    { type: "message", role: "system", content: "Be brief." },
    {
      type: "message", role: "user",
      content: [
        { type: "input_text", text: "Look at this." },
        { type: "input_image", image: "data:image/png;base64,AQI=" },
        { type: "input_file", file: { url: "https://x.test/a.pdf" } },
      ],
    },
    { type: "reasoning", content: [{ type: "input_text", text: "Hm." }] },
    { type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: "Yes." }] },
    call("c1", '{"a":1}'),
    result("c1", '{"found":true}'),
  ]);
});

test("the typed parts have role, text, call, result, reasoning and author", async () => {
  const { client } = fresh();
  const session = new ThreadkeepSession(client, { sessionId: "typed", author: "planner" });
  await session.addItems([
    said("Hi"),
    { type: "reasoning", content: [{ type: "input_text", text: "Hm." }], providerData: { encrypted_content: "sealed" } },
    call("c1", '{"a":1}'),
    result("c1", "found"),
    { type: "shell_call", callId: "s1", action: { commands: ["ls"] } },
    { type: "apply_patch_call_output", callId: "p1", status: "failed", output: "no such file" },
  ]);
  const parts = [];
  for await (const event of client.session("typed").events()) {
    parts.push([event.message?.role, event.author, event.message?.parts.map(({ content }) => content.case)]);
  }
  assert.deepEqual(parts, [
    [1, "", ["text"]],
    [2, "planner", ["reasoning"]],
    [2, "planner", ["toolCall"]],
    [4, "", ["toolResult"]],
    [2, "planner", ["toolCall"]],
    [4, "", ["toolResult"]],
  ]);
});

test("a transaction with the same operation id and content is applied once", async () => {
  const { again } = fresh();
  await again().applyHistoryTransaction(append("op-1", said("one"), said("two")));
  await again().applyHistoryTransaction(append("op-1", said("one"), said("two")));
  assert.deepEqual(await again().getItems(), [said("one"), said("two")]);
  const change = replace("op-2", [said("two")], [said("three"), said("four")]);
  await again().applyHistoryTransaction(change);
  await again().addItems([said("later")]);
  await again().applyHistoryTransaction(change);
  assert.deepEqual(await again().getItems(), [said("one"), said("three"), said("four"), said("later")]);
});

test("a transaction whose members come in another order is the same one", async () => {
  const { again } = fresh();
  await again().applyHistoryTransaction(append("op", { type: "message", role: "user", content: "hi" }));
  await again().applyHistoryTransaction(append("op", { content: "hi", role: "user", type: "message" }));
  assert.deepEqual(await again().getItems(), [said("hi")]);
});

test("a transaction with the same operation id and other content fails, and changes nothing", async () => {
  const { again } = fresh();
  await again().applyHistoryTransaction(append("op-1", said("one")));
  await assert.rejects(again().applyHistoryTransaction(append("op-1", said("two"))), { name: "UserError" });
  await assert.rejects(again().applyHistoryTransaction(replace("op-1", [said("one")], [said("two")])), { name: "UserError" });
  await again().applyHistoryTransaction(replace("op-2", [said("one")], [said("1")]));
  await assert.rejects(again().applyHistoryTransaction(replace("op-2", [said("1")], [said("uno")])), { name: "UserError" });
  assert.deepEqual(await again().getItems(), [said("1")]);
});

test("a transaction whose suffix does not match fails, and its operation id is not stored", async () => {
  const { again } = fresh();
  await again().addItems([said("one")]);
  const change = replace("op", [said("two")], [said("three")]);
  await assert.rejects(again().applyHistoryTransaction(change), { name: "UserError" });
  assert.deepEqual(await again().getItems(), [said("one")]);
  await again().addItems([said("two")]);
  await again().applyHistoryTransaction(change);
  assert.deepEqual(await again().getItems(), [said("one"), said("three")]);
  await assert.rejects(again().applyHistoryTransaction(replace("long", [said("0"), said("one"), said("three")], [])), { name: "UserError" });
});

test("an empty append stores the operation id", async () => {
  const { again } = fresh();
  await again().applyHistoryTransaction(append("op"));
  await again().applyHistoryTransaction(append("op"));
  await assert.rejects(again().applyHistoryTransaction(append("op", said("one"))), { name: "UserError" });
  await assert.rejects(again().applyHistoryTransaction(replace("op", [], [])), { name: "UserError" });
  assert.deepEqual(await again().getItems(), []);
});

test("a replacement by nothing is applied once", async () => {
  const { again } = fresh();
  await again().addItems([said("one"), said("two")]);
  const change = replace("op", [said("two")], []);
  await again().applyHistoryTransaction(change);
  await again().addItems([said("two")]);
  await again().applyHistoryTransaction(change);
  assert.deepEqual(await again().getItems(), [said("one"), said("two")]);
  assert.deepEqual(await again().popItem(), said("two"));
  assert.deepEqual(await again().popItem(), said("one"));
});

test("clearSession forgets operation ids", async () => {
  const { again } = fresh();
  await again().applyHistoryTransaction(append("op", said("one")));
  await again().applyHistoryTransaction(replace("op-2", [said("one")], [said("two")]));
  await again().clearSession();
  await again().applyHistoryTransaction(append("op", said("other")));
  await assert.rejects(again().applyHistoryTransaction(replace("op-2", [said("one")], [said("two")])), { name: "UserError" });
  await again().applyHistoryTransaction(replace("op-2", [said("other")], [said("last")]));
  assert.deepEqual(await again().getItems(), [said("last")]);
});

test("of ten replacements of one suffix at the same time exactly one is applied", async () => {
  const { again } = fresh();
  await again().addItems([said("one")]);
  const changes = Array.from({ length: 10 }, (_, place) => again().applyHistoryTransaction(replace(`op-${place}`, [said("one")], [said(`${place}`)])));
  const outcomes = await Promise.allSettled(changes);
  assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 1);
  assert.equal((await again().getItems()).length, 1);
});

test("an operation id of any length and characters is accepted", async () => {
  const { again } = fresh();
  for (const operationId of ["x".repeat(4000), "tab\tand\u0000"]) {
    await again().applyHistoryTransaction(append(operationId, said("one")));
    await again().applyHistoryTransaction(append(operationId, said("one")));
  }
  assert.equal((await again().getItems()).length, 2);
  await assert.rejects(again().applyHistoryTransaction(append(" ", said("one"))), { name: "UserError" });
});

test("a mutation replaces the first matching call in place and removes later ones with its id", async () => {
  const { again } = fresh();
  await again().addItems([said("a"), call("c1", "1"), said("b"), call("c1", "2"), call("c2"), result("c2", "found")]);
  await again().applyHistoryMutations({ mutations: [{ type: "replace_function_call", callId: "c1", replacement: call("c1", "3") }] });
  assert.deepEqual(await again().getItems(), [said("a"), call("c1", "3"), said("b"), call("c2"), result("c2", "found")]);
});

test("a mutation of a call that has no duplicate keeps the other events as they are", async () => {
  const { client, again, session } = fresh();
  await again().addItems([said("a"), call("c1", "1"), result("c1", "found")]);
  const ids = async () => {
    const found: string[] = [];
    const events = client.session(await session.getSessionId()).events({ filter: { view: "active" } });
    for await (const event of events) found.push(event.eventId);
    return found;
  };
  const before = await ids();
  await again().applyHistoryMutations({ mutations: [{ type: "replace_function_call", callId: "c1", replacement: call("c1", "2") }] });
  assert.deepEqual(await again().getItems(), [said("a"), call("c1", "2"), result("c1", "found")]);
  assert.deepEqual(await ids(), before);
});

test("a mutation of a call that is not stored changes nothing", async () => {
  const { again } = fresh();
  await again().addItems([call("c1", "1")]);
  await again().applyHistoryMutations({ mutations: [{ type: "replace_function_call", callId: "c2", replacement: call("c2") }] });
  await again().applyHistoryMutations({ mutations: [] });
  assert.deepEqual(await again().getItems(), [call("c1", "1")]);
});

test("mutations and appends at the same time lose nothing", async () => {
  const { again } = fresh();
  await again().addItems([call("c1", "0"), call("c1", "0")]);
  await Promise.all([
    ...Array.from({ length: 5 }, (_, place) => again().addItems([said(`${place}`)])),
    again().applyHistoryMutations({ mutations: [{ type: "replace_function_call", callId: "c1", replacement: call("c1", "1") }] }),
  ]);
  const items = await again().getItems();
  assert.deepEqual(items[0], call("c1", "1"));
  assert.equal(items.length, 6);
});

test("a compaction replaces all items, which stay in the history", async () => {
  const { client, session, again } = fresh();
  await again().addItems([said("one"), said("two"), said("three")]);
  const compacted: AgentInputItem[] = [{ type: "compaction", encrypted_content: "sealed" }, said("three")];
  await again().replaceHistoryWithCompaction(compacted);
  assert.deepEqual(await again().getItems(), compacted);
  const texts: unknown[] = [];
  for await (const event of client.session(await session.getSessionId()).events()) texts.push(event.message?.parts[0]?.content.value);
  assert.ok(texts.includes("one"));
});

test("a compaction keeps items that others added since it read", async () => {
  const { session, again } = fresh();
  await again().addItems([said("one"), said("two")]);
  await session.getItems();
  await again().addItems([said("meanwhile")]);
  await session.replaceHistoryWithCompaction([{ type: "compaction", encrypted_content: "sealed" }]);
  assert.deepEqual(await again().getItems(), [{ type: "compaction", encrypted_content: "sealed" }, said("meanwhile")]);
});

test("a compaction of an empty session stores its items", async () => {
  const { again } = fresh();
  await again().replaceHistoryWithCompaction([said("summary")]);
  assert.deepEqual(await again().getItems(), [said("summary")]);
});

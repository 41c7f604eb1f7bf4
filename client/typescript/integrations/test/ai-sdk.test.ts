// Chats of the AI SDK in Threadkeep.

import assert from "node:assert/strict";
import { test } from "node:test";

import { convertToModelMessages, TypeValidationError, type UIMessage } from "ai";
import { assistant, media, newEventId, reasoning, Role, system, toolCall, toolError, toolResult, user, type Client } from "@threadkeep/client";

import { ChatChangedError, ThreadkeepChats } from "../src/ai-sdk.js";
import { freshClient } from "./support.js";

const said = (id: string, text = id): UIMessage => ({ id, role: "user", parts: [{ type: "text", text }] });
const answer = (id: string, text = id): UIMessage => ({ id, role: "assistant", parts: [{ type: "step-start" }, { type: "text", text, state: "done" }] });
const ids = (messages: readonly UIMessage[]) => messages.map(({ id }) => id);

function fresh(): { client: Client; chats: ThreadkeepChats; chatId: string } {
  const client = freshClient();
  return { client, chats: new ThreadkeepChats(client), chatId: newEventId() };
}

/** A tool's part in one of its states. */
const tool = (state: object): UIMessage["parts"][number] =>
  ({ type: "tool-find", toolCallId: "c1", input: { a: 1 }, ...state }) as unknown as UIMessage["parts"][number];

async function eventsOf(client: Client, chatId: string) {
  const found = [];
  for await (const event of client.session(chatId).events({ filter: { view: "active" } })) found.push(event);
  return found;
}

test("createChat returns a new id, or creates a chat with the given one once", async () => {
  const { client, chats } = fresh();
  const id = await chats.createChat();
  assert.deepEqual(await chats.loadChat(id), []);
  assert.equal(await chats.createChat({ id: "trip", metadata: { title: "Lisbon" } }), "trip");
  assert.equal((await client.session("trip").get()).metadataJson, '{"title":"Lisbon"}');
  await assert.rejects(chats.createChat({ id: "trip" }), { reason: "SESSION_ALREADY_EXISTS" });
});

test('createChat with "." or ".." throws, because the AI SDK cannot request it', async () => {
  const { chats } = fresh();
  await assert.rejects(chats.createChat({ id: "." }), TypeError);
  await assert.rejects(chats.createChat({ id: ".." }), TypeError);
});

test("loadChat of an unknown chat returns no messages", async () => {
  const { chats, chatId } = fresh();
  assert.deepEqual(await chats.loadChat(chatId), []);
  assert.deepEqual(await chats.readChat(chatId), { messages: [], version: 0, activeStreamId: null });
});

test("a message comes back equal, with parts of all kinds", async () => {
  const { chats, chatId } = fresh();
  const messages: UIMessage[] = [
    { id: "s", role: "system", parts: [{ type: "text", text: "Be brief. \u0000 🌞" }] },
    {
      id: "u", role: "user", metadata: { createdAt: 1, nested: { list: [null, 0.1] } },
      parts: [{ type: "text", text: "" }, { type: "file", mediaType: "image/png", url: "https://x.test/a.png", providerReference: { openai: "file-1" } }],
    },
    {
      id: "a", role: "assistant",
      parts: [
        { type: "step-start" },
        { type: "reasoning", text: "Hm.", providerMetadata: { openai: { reasoningEncryptedContent: "sealed" } } },
        { type: "source-url", sourceId: "1", url: "https://x.test" },
        { type: "data-weather", id: "w", data: { celsius: 21 } },
        tool({ state: "output-available", output: [1, 2] }),
        { type: "dynamic-tool", toolName: "other", toolCallId: "c2", state: "output-error", input: "text", errorText: "no" },
        { type: "step-start" },
        { type: "text", text: "Yes.", state: "streaming" },
        { type: "tool-find", toolCallId: "c3", state: "input-streaming", input: undefined, rawInput: '{"a' } as UIMessage["parts"][number],
      ],
    },
  ];
  await chats.saveChat({ chatId, messages });
  assert.deepEqual(await chats.loadChat(chatId), JSON.parse(JSON.stringify(messages)));
});

test("rawInput of a part whose input is streaming is kept, and is the text of the call", async () => {
  const { client, chats, chatId } = fresh();
  const part = { type: "tool-find", toolCallId: "c1", state: "input-streaming", rawInput: '{"city": "Lis' } as UIMessage["parts"][number];
  await chats.saveChat({ chatId, messages: [{ id: "a", role: "assistant", parts: [part] }] });
  assert.deepEqual((await chats.loadChat(chatId))[0]?.parts, [part]);
  const [event] = await eventsOf(client, chatId);
  assert.deepEqual(event?.message?.parts[0]?.content.value, {
    $typeName: "threadkeep.v1.ToolCallPart", id: "c1", name: "find", kind: "function", argumentsJson: '{"city": "Lis',
  });
});

test("an answer is stored step by step: calls in the model's events, results in events of tools", async () => {
  const { client, chats, chatId } = fresh();
  const steps = new ThreadkeepChats(client, { author: "planner" });
  const parts: UIMessage["parts"] = [
    { type: "text", text: "Let me look." },
    tool({ state: "output-available", output: { found: true } }),
    tool({ toolCallId: "c2", state: "output-error", errorText: "offline" }),
    { type: "step-start" },
    tool({ toolCallId: "c3", state: "output-denied", approval: { id: "x", approved: false, reason: "too expensive" } }),
    { type: "text", text: "Done." },
  ];
  await steps.saveChat({ chatId, messages: [said("u"), { id: "a", role: "assistant", parts }] });
  const events = await eventsOf(client, chatId);
  assert.deepEqual(events.map(({ eventId, author, message }) => [eventId, author, message?.role, message?.parts.map(({ content }) => content.case)]), [
    ["u", "", Role.USER, ["text"]],
    ["a", "planner", Role.ASSISTANT, ["text", "toolCall", "toolCall"]],
    ["a#1", "", Role.TOOL, ["toolResult", "toolResult"]],
    ["a#2", "planner", Role.ASSISTANT, ["toolCall"]],
    ["a#3", "", Role.TOOL, ["toolResult"]],
    ["a#4", "planner", Role.ASSISTANT, ["text"]],
  ]);
  const results = events.flatMap(({ message }) => message!.parts.flatMap(({ content }) => (content.case === "toolResult" ? [content.value] : [])));
  assert.deepEqual(results.map(({ callId, structuredJson, isError }) => [callId, structuredJson, isError]), [
    ["c1", '{"found":true}', false], ["c2", "", true], ["c3", "", true],
  ]);
  assert.deepEqual((await chats.loadChat(chatId))[1]?.parts, parts);
});

test("saveChat of a message with a stored id replaces it in place", async () => {
  const { client, chats, chatId } = fresh();
  await chats.saveChat({ chatId, messages: [said("u1"), answer("a1", "no"), said("u2")] });
  await chats.saveChat({ chatId, messages: [answer("a1", "yes")] });
  assert.deepEqual(await chats.loadChat(chatId), [said("u1"), answer("a1", "yes"), said("u2")]);
  assert.equal((await client.session(chatId).get()).window?.events, 3n);
});

test("saveChat of unchanged messages stores nothing", async () => {
  const { chats, chatId } = fresh();
  await chats.saveChat({ chatId, messages: [said("u1"), answer("a1")] });
  const { version } = await chats.readChat(chatId);
  await chats.saveChat({ chatId, messages: [said("u1"), answer("a1")] });
  assert.equal((await chats.readChat(chatId)).version, version);
});

test("a message that grows and shrinks is read as it was saved last", async () => {
  const { chats, chatId } = fresh();
  const asked: UIMessage = { id: "a", role: "assistant", parts: [tool({ state: "approval-requested", approval: { id: "x" } })] };
  const done: UIMessage = { ...asked, parts: [tool({ state: "output-available", output: 1 }), { type: "text", text: "Done." }] };
  await chats.saveChat({ chatId, messages: [said("u"), asked] });
  await chats.saveChat({ chatId, messages: [said("u"), done] });
  await chats.saveChat({ chatId, messages: [said("u2")] });
  assert.deepEqual(await chats.loadChat(chatId), [said("u"), done, said("u2")]);
  await chats.saveChat({ chatId, messages: [asked] });
  assert.deepEqual(await chats.loadChat(chatId), [said("u"), asked, said("u2")]);
  await chats.saveChat({ chatId, messages: [done] });
  assert.deepEqual(await chats.loadChat(chatId), [said("u"), done, said("u2")]);
});

test("two tabs that save the same chat with messages of their own lose none", async () => {
  const { client, chats, chatId } = fresh();
  await chats.saveChat({ chatId, messages: [said("u1"), answer("a1")] });
  const tabs = ["left", "right"].map((tab) => new ThreadkeepChats(client).saveChat({ chatId, messages: [said("u1"), answer("a1"), said(tab), answer(`${tab} answer`)] }));
  await Promise.all(tabs);
  const saved = ids(await chats.loadChat(chatId));
  assert.deepEqual(saved.slice(0, 2), ["u1", "a1"]);
  assert.deepEqual(saved.slice(2).sort(), ["left", "left answer", "right", "right answer"]);
});

test("twenty first saves of a new chat at the same time are all stored", async () => {
  const { client, chats, chatId } = fresh();
  await Promise.all(Array.from({ length: 20 }, (_, n) => new ThreadkeepChats(client).saveChat({ chatId, messages: [said(`u${n}`)] })));
  assert.equal((await chats.loadChat(chatId)).length, 20);
});

test("saveChat with the version that was read replaces all messages", async () => {
  const { chats, chatId } = fresh();
  await chats.saveChat({ chatId, version: 0, messages: [said("u1"), answer("a1"), said("u2"), answer("a2")] });
  const { version } = await chats.readChat(chatId);
  await chats.saveChat({ chatId, version, messages: [said("u1"), answer("a1", "changed"), said("u3")] });
  assert.deepEqual(await chats.loadChat(chatId), [said("u1"), answer("a1", "changed"), said("u3")]);
});

test("saveChat with a version throws if someone added or changed a message since, and stores nothing", async () => {
  const { client, chats, chatId } = fresh();
  await assert.doesNotReject(chats.saveChat({ chatId, version: 0, messages: [said("u1")] }));
  await assert.rejects(chats.saveChat({ chatId, version: 0, messages: [said("late")] }), ChatChangedError);
  const read = await chats.readChat(chatId);
  await client.session(chatId).append(user("from elsewhere", { eventId: "e1" }));
  await assert.rejects(chats.saveChat({ chatId, version: read.version, messages: read.messages }), ChatChangedError);
  assert.deepEqual(ids(await chats.loadChat(chatId)), ["u1", "e1"]);
  const again = await chats.readChat(chatId);
  await chats.saveChat({ chatId, messages: [said("u1", "edited")] });
  await assert.rejects(chats.saveChat({ chatId, version: again.version, messages: [] }), ChatChangedError);
});

test("of ten replacements of one version exactly one is stored", async () => {
  const { client, chats, chatId } = fresh();
  await chats.saveChat({ chatId, messages: [said("u1")] });
  const { version } = await chats.readChat(chatId);
  const saves = Array.from({ length: 10 }, (_, n) => new ThreadkeepChats(client).saveChat({ chatId, version, messages: [said(`only ${n}`)] }));
  const outcomes = await Promise.allSettled(saves);
  assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 1);
  assert.equal((await chats.loadChat(chatId)).length, 1);
});

test("truncateChat of an answer removes it and all after it, and returns them", async () => {
  const { client, chats, chatId } = fresh();
  await chats.saveChat({ chatId, messages: [said("u1"), answer("a1"), said("u2"), answer("a2")] });
  assert.deepEqual(ids(await chats.truncateChat({ chatId, messageId: "a1" })), ["a1", "u2", "a2"]);
  assert.deepEqual(ids(await chats.loadChat(chatId)), ["u1"]);
  const history: string[] = [];
  for await (const event of client.session(chatId).events()) history.push(event.eventId);
  assert.ok(history.includes("a1"));
});

test("truncateChat of a user's message keeps it; of the last by default; of an unknown one removes nothing", async () => {
  const { chats, chatId } = fresh();
  await chats.saveChat({ chatId, messages: [said("u1"), answer("a1"), said("u2"), answer("a2")] });
  assert.deepEqual(await chats.truncateChat({ chatId, messageId: "nowhere" }), []);
  assert.deepEqual(ids(await chats.truncateChat({ chatId })), ["a2"]);
  assert.deepEqual(ids(await chats.truncateChat({ chatId, messageId: "u1" })), ["a1", "u2"]);
  assert.deepEqual(await chats.truncateChat({ chatId }), []);
});

test("truncateChat with a version throws if a message arrived since", async () => {
  const { chats, chatId } = fresh();
  await chats.saveChat({ chatId, messages: [said("u1"), answer("a1")] });
  const { version } = await chats.readChat(chatId);
  await chats.saveChat({ chatId, messages: [said("u2")] });
  await assert.rejects(chats.truncateChat({ chatId, messageId: "a1", version }), ChatChangedError);
  assert.deepEqual(ids(await chats.loadChat(chatId)), ["u1", "a1", "u2"]);
});

test("receive adds a new message, given alone or as the last of all", async () => {
  const { chats, chatId: id } = fresh();
  assert.deepEqual(ids(await chats.receive({ id, message: said("u1"), trigger: "submit-message" })), ["u1"]);
  await chats.saveChat({ chatId: id, messages: [answer("a1")] });
  assert.deepEqual(ids(await chats.receive({ id, messages: [said("u1"), answer("a1"), said("u2")], trigger: "submit-message" })), ["u1", "a1", "u2"]);
});

test("receive of an edited message replaces it and removes what came after", async () => {
  const { chats, chatId: id } = fresh();
  await chats.saveChat({ chatId: id, messages: [said("u1"), answer("a1"), said("u2"), answer("a2")] });
  const messages = await chats.receive({ id, message: said("u1", "edited"), trigger: "submit-message", messageId: "u1" });
  assert.deepEqual(messages, [said("u1", "edited")]);
});

test("receive of a request to regenerate removes the answer, and an answer with the same id can be saved again", async () => {
  const { chats, chatId: id } = fresh();
  await chats.saveChat({ chatId: id, messages: [said("u1"), answer("a1", "first")] });
  const messages = await chats.receive({ id, messages: [said("u1")], trigger: "regenerate-message", messageId: "a1" });
  assert.deepEqual(messages, [said("u1")]);
  await chats.saveChat({ chatId: id, messages: [...messages, answer("a1", "first")] });
  assert.deepEqual(await chats.loadChat(id), [said("u1"), answer("a1", "first")]);
});

test("a message without an id, or with one that ends like an event's, is refused", async () => {
  const { chats, chatId } = fresh();
  await assert.rejects(chats.saveChat({ chatId, messages: [answer("")] }), /generateMessageId|needs an id/);
  await assert.rejects(chats.saveChat({ chatId, messages: [answer("a#1")] }), TypeError);
});

test("events of other frameworks are messages: one answer for the steps of an agent", async () => {
  const { client, chats, chatId } = fresh();
  await client.session(chatId).append(
    [
      system("Be brief.", { eventId: "s" }),
      user(["Look at this.", media("image/png", { data: new Uint8Array([1, 2]) }, "map.png")], { eventId: "u" }),
      assistant([reasoning("Hm."), "Let me look.", toolCall("c1", "find", { a: 1 })], { eventId: "a", author: "planner" }),
      assistant([toolCall("c2", "find", {})], { author: "planner" }),
      toolResult("c1", { json: { found: true } }, { eventId: "r1" }),
      toolError("c2", "offline", { eventId: "r2" }),
      assistant("Done.", { eventId: "a2", author: "planner" }),
      assistant("I agree.", { eventId: "c", author: "critic" }),
    ],
    { createIfMissing: true },
  );
  const messages = await chats.loadChat(chatId, { validate: true });
  assert.deepEqual(messages, [
    { id: "s", role: "system", parts: [{ type: "text", text: "Be brief." }] },
    {
      id: "u", role: "user",
      parts: [{ type: "text", text: "Look at this." }, { type: "file", mediaType: "image/png", filename: "map.png", url: "data:image/png;base64,AQI=" }],
    },
    {
      id: "a", role: "assistant",
      parts: [
        { type: "step-start" },
        { type: "reasoning", text: "Hm." },
        { type: "text", text: "Let me look." },
        { type: "dynamic-tool", toolName: "find", toolCallId: "c1", state: "output-available", input: { a: 1 }, output: { found: true } },
        { type: "dynamic-tool", toolName: "find", toolCallId: "c2", state: "output-error", input: {}, errorText: "offline" },
        { type: "step-start" },
        { type: "text", text: "Done." },
      ],
    },
    { id: "c", role: "assistant", parts: [{ type: "step-start" }, { type: "text", text: "I agree." }] },
  ]);
  const roles = (await convertToModelMessages(messages)).map(({ role }) => role);
  assert.deepEqual(roles, ["system", "user", "assistant", "tool", "assistant", "assistant"]);
  const { version } = await chats.readChat(chatId);
  await chats.saveChat({ chatId, messages });
  assert.equal((await chats.readChat(chatId)).version, version, "saving what was read stores nothing");
});

test("records of other frameworks without content are no messages, and stay where they are", async () => {
  const { client, chats, chatId } = fresh();
  const record = (eventId: string) => ({ eventId, message: { role: Role.SYSTEM, parts: [] }, native: { format: "langgraph.checkpoint.py/1", content: new Uint8Array([1]) } });
  await client.session(chatId).append([record("r1"), user("one", { eventId: "u1" }), record("r2"), user("two", { eventId: "u2" }), record("r3")], { createIfMissing: true });
  const { messages, version } = await chats.readChat(chatId);
  assert.deepEqual(ids(messages), ["u1", "u2"]);
  await chats.saveChat({ chatId, version, messages: [messages[0]!, said("u2", "changed"), said("u3")] });
  assert.deepEqual((await eventsOf(client, chatId)).map(({ eventId }) => eventId), ["r1", "u1", "r2", "u2", "u3", "r3"]);
});

test("a result that another framework appends settles the call of a stored answer", async () => {
  const { client, chats, chatId } = fresh();
  await chats.saveChat({ chatId, messages: [said("u"), { id: "a", role: "assistant", parts: [tool({ state: "input-available" })] }] });
  await client.session(chatId).append([toolResult("c1", { json: "7" }), assistant("Seven.", { eventId: "b" })]);
  const [, called, last] = await chats.loadChat(chatId);
  assert.deepEqual(called?.parts, [tool({ state: "output-available", output: 7 })]);
  assert.equal(last?.id, "b");
  await chats.saveChat({ chatId, messages: [{ ...called!, parts: [...called!.parts, { type: "text", text: "So it is." }] }] });
  assert.deepEqual((await chats.loadChat(chatId))[1]?.parts, [tool({ state: "output-available", output: 7 }), { type: "text", text: "So it is." }]);
});

test("loadChat validates on request, and leaves it to the caller otherwise", async () => {
  const { chats, chatId } = fresh();
  assert.deepEqual(await chats.loadChat(chatId, { validate: true }), []);
  await chats.saveChat({ chatId, messages: [{ id: "u", role: "user", parts: [{ type: "text" }] } as unknown as UIMessage] });
  assert.equal((await chats.loadChat(chatId)).length, 1);
  await assert.rejects(chats.loadChat(chatId, { validate: true }), (error) => TypeValidationError.isInstance(error));
});

test("a chat of more messages than a page has is read and saved whole", async () => {
  const { chats, chatId } = fresh();
  const messages = Array.from({ length: 2300 }, (_, n) => said(`u${n}`));
  await chats.saveChat({ chatId, messages });
  assert.deepEqual(await chats.loadChat(chatId), messages);
});

test("deleteChat deletes the chat", async () => {
  const { chats, chatId } = fresh();
  await chats.saveChat({ chatId, messages: [said("u")] });
  await chats.deleteChat(chatId);
  assert.deepEqual(await chats.loadChat(chatId), []);
});

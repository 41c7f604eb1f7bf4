import assert from "node:assert/strict";
import { test } from "node:test";

import { fromBinary, toBinary } from "@bufbuild/protobuf";

import * as sdk from "../src/node.js";

test("ids are UUIDv7, differ, and sort in the order they were made", () => {
  const before = Date.now();
  const ids = Array.from({ length: 20_000 }, sdk.newEventId);
  for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(new Set(ids).size, ids.length);
  assert.deepEqual([...ids].sort(), ids);
  const made = Number.parseInt(ids[0]!.replace("-", "").slice(0, 12), 16);
  assert.ok(made >= before && made <= Date.now(), `${made} is now`);
});

test("withIds copies, keeps ids that are given, and gives the others one", () => {
  const [mine, other] = [sdk.user("one", { eventId: "mine" }), sdk.user("two")];
  const [first, second] = sdk.withIds([mine, other]);
  assert.equal(first!.eventId, "mine");
  assert.notEqual(second!.eventId, "");
  assert.equal(other.eventId, "", "the caller's event is as it was");
  (other.message!.parts[0]!.content.value as sdk.TextPart).text = "changed";
  assert.equal(sdk.textOf(second!), "two", "and later changes of it do not reach the copy");
});

test("withIds takes plain fields, and keeps what this version does not know", () => {
  const unknown = fromBinary(sdk.SessionEventSchema, Uint8Array.of(0xa2, 0x06, 0x01, 0x41)); // field 100
  const [copy] = sdk.withIds([unknown]);
  assert.deepEqual([...toBinary(sdk.SessionEventSchema, copy!)].slice(-4), [0xa2, 0x06, 0x01, 0x41]);
  const [plain] = sdk.withIds([{ author: "planner" }]);
  assert.equal(plain!.author, "planner");
});

test("builders make events of their role", () => {
  assert.equal(sdk.user("hi").message!.role, sdk.Role.USER);
  assert.equal(sdk.system("be brief").message!.role, sdk.Role.SYSTEM);
  const answer = sdk.assistant("two", { author: "planner", metadata: { a: [1] }, usage: { inputTokens: 7n } });
  assert.equal(answer.message!.role, sdk.Role.ASSISTANT);
  assert.equal(answer.author, "planner");
  assert.equal(answer.metadataJson, '{"a":[1]}');
  assert.equal(answer.usage!.inputTokens, 7n);
  assert.equal(sdk.user("hi", { metadata: "{ }" }).metadataJson, "{ }", "text is kept verbatim");
});

test("tool calls follow the content, and results answer them", () => {
  const call = sdk.toolCall("c1", "flights", { to: "LIS" });
  const asked = sdk.assistant("One moment.", { toolCalls: [call] });
  assert.deepEqual(asked.message!.parts.map((part) => part.content.case), ["text", "toolCall"]);
  assert.equal((call.content.value as sdk.ToolCallPart).argumentsJson, '{"to":"LIS"}');
  assert.equal((sdk.toolCall("c2", "flights", '{ "to": 1.0 }').content.value as sdk.ToolCallPart).argumentsJson, '{ "to": 1.0 }');
  const structured = sdk.toolResult({ callId: "c1", name: "flights", json: { found: 2 } });
  const value = structured.message!.parts[0]!.content.value as sdk.ToolResultPart;
  assert.deepEqual([value.callId, value.structuredJson, value.parts.length, value.isError], ["c1", '{"found":2}', 0, false]);
  const failed = sdk.toolResult({ callId: "c1", content: "no such airport", isError: true }, { author: "tools" });
  assert.equal(failed.author, "tools");
  assert.equal((failed.message!.parts[0]!.content.value as sdk.ToolResultPart).isError, true);
});

test("textOf joins the text parts, and nothing else", () => {
  const event = sdk.assistant(["one", sdk.toolCall("c", "f", {}), sdk.text("two")]);
  assert.equal(sdk.textOf(event), "one\ntwo");
  assert.equal(sdk.textOf(sdk.assistant([])), "");
});

test("what no message could hold is refused by name", () => {
  assert.throws(() => sdk.user(7 as never), /TypeError: content must be/);
  assert.throws(() => sdk.user(["a", 7 as never]), /content\[1\]/);
  assert.throws(() => sdk.toolCall("c", "f", { n: Number.NaN }), /TypeError: args is not JSON.*NaN/);
  assert.throws(() => sdk.toolCall("c", "f", { n: 1n }), /TypeError: args is not JSON/);
  assert.throws(() => sdk.user("a", { metadata: 7 as never }), /metadata must be/);
});

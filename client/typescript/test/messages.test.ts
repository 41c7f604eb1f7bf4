import assert from "node:assert/strict";
import { test } from "node:test";

import { fromBinary, toBinary } from "@bufbuild/protobuf";

import * as sdk from "../src/node.js";
import * as pb from "../src/v1.js";

test("new ids are UUIDv7, differ, and sort by creation time", () => {
  const before = Date.now();
  const ids = Array.from({ length: 20_000 }, sdk.newEventId);
  for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(new Set(ids).size, ids.length);
  const times = ids.map((id) => id.slice(0, 13));
  assert.deepEqual([...times].sort(), times);
  const made = Number.parseInt(ids[0]!.replace("-", "").slice(0, 12), 16);
  assert.ok(made >= before && made <= Date.now(), `${made} is now`);
});

test("builders set the role", () => {
  assert.equal(sdk.user("hi").message!.role, sdk.Role.USER);
  assert.equal(sdk.system("be brief").message!.role, sdk.Role.SYSTEM);
  const answer = sdk.assistant("two", { author: "planner", metadataJson: '{"a":[1]}', usage: { inputTokens: 7n } });
  assert.equal(answer.message!.role, sdk.Role.ASSISTANT);
  assert.equal(answer.author, "planner");
  assert.equal(answer.metadataJson, '{"a":[1]}');
  assert.equal(answer.usage!.inputTokens, 7n);
});

test("tool calls follow the content, and results have their ids", () => {
  const call = sdk.toolCall("c1", "flights", { to: "LIS" });
  const requested = sdk.assistant(["One moment.", call]);
  assert.deepEqual(requested.message!.parts.map((part) => part.content.case), ["text", "toolCall"]);
  assert.equal((call.content.value as pb.ToolCallPart).argumentsJson, '{"to":"LIS"}');
  assert.equal((sdk.toolCall("c2", "flights", '{ "to": 1.0 }').content.value as pb.ToolCallPart).argumentsJson, '{ "to": 1.0 }');
  const structured = sdk.toolResult("c1", { name: "flights", json: { found: 2 } });
  const value = structured.message!.parts[0]!.content.value as pb.ToolResultPart;
  assert.deepEqual([value.callId, value.structuredJson, value.parts.length, value.isError], ["c1", '{"found":2}', 0, false]);
  const failed = sdk.toolError("c1", "no such airport", { author: "tools" });
  assert.equal(failed.author, "tools");
  assert.equal((failed.message!.parts[0]!.content.value as pb.ToolResultPart).isError, true);
});

test("an empty text is a part with content, and an empty part stays empty", () => {
  for (const event of [sdk.user(""), sdk.assistant([""]), sdk.system("")]) {
    const [part] = fromBinary(pb.SessionEventSchema, toBinary(pb.SessionEventSchema, event)).message!.parts;
    assert.deepEqual(part!.content, { case: "text", value: "" });
  }
  const bare = fromBinary(pb.SessionEventSchema, toBinary(pb.SessionEventSchema, sdk.user([{}])));
  assert.equal(bare.message!.parts[0]!.content.case, undefined);
  const result = sdk.toolResult("c", "").message!.parts[0]!.content.value as pb.ToolResultPart;
  assert.deepEqual(result.parts[0]!.content, { case: "text", value: "" });
});

test("parts of reasoning and media have their content", () => {
  const [thought, image, inline] = [sdk.reasoning("Hm.", { signature: Uint8Array.of(1) }), sdk.media("image/png", { uri: "gs://a" }, "a"), sdk.media("image/png", { data: Uint8Array.of(2) })];
  assert.deepEqual(thought.content.value, { ...(thought.content.value as object), text: "Hm.", signature: Uint8Array.of(1) });
  const { mimeType, name, source } = image.content.value as pb.MediaPart;
  assert.deepEqual([mimeType, name, source], ["image/png", "a", { case: "uri", value: "gs://a" }]);
  assert.deepEqual((inline.content.value as pb.MediaPart).source, { case: "data", value: Uint8Array.of(2) });
});

test("textOf joins only the text parts", () => {
  const event = sdk.assistant(["one", sdk.toolCall("c", "f", {}), { content: { case: "text", value: "two" } }]);
  assert.equal(sdk.textOf(event), "one\ntwo");
  assert.equal(sdk.textOf(sdk.assistant([])), "");
  assert.equal(sdk.textOf(undefined), "");
});

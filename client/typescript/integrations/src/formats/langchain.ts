// Messages of LangChain.js: from events, and to events. An item is `{ type, data }`, as `message.toDict()` returns it.
//
// Python's messages have the same shape, but other names in their content blocks: they are another native format, and are read from
// the typed parts.

import { Role, type Part, type SessionEvent } from "@threadkeep/client";
import type { MediaPart, ToolCallPart, ToolResultPart } from "@threadkeep/client/v1";

import { base64Of, jsonOf, parsed, valueOf } from "./json.js";
import {
  callPart, dataPart, eventWith, inlinePart, mediaPart, nativeText, reasoningPart, resultPart, textPart, uploadedPart, type EventContext, type EventDraft,
} from "./parts.js";

/** The native format of a message. */
export const NATIVE = "langchain-js.message/1";

/** A message as JSON: its type, and the fields of its constructor. */
export interface Item {
  type: string;
  data: Record<string, unknown>;
}

type Block = Record<string, unknown>;

const ROLES: Record<string, Role> = {
  human: Role.USER, user: Role.USER, ai: Role.ASSISTANT, assistant: Role.ASSISTANT, system: Role.SYSTEM, developer: Role.SYSTEM,
  tool: Role.TOOL, function: Role.TOOL,
};
const TYPES: Record<number, string> = { [Role.USER]: "human", [Role.ASSISTANT]: "ai", [Role.SYSTEM]: "system", [Role.TOOL]: "tool" };
/** Blocks that repeat a message's `tool_calls`. */
const CALLS = new Set(["tool_call", "tool_use", "function_call", "tool_call_chunk", "invalid_tool_call", "input_json_delta"]);
const MEDIA: Record<string, string> = {
  image: "image/*", image_url: "image/*", audio: "audio/*", input_audio: "audio/*", video: "video/*", file: "application/octet-stream",
  "text-plain": "text/plain",
};
const NAME = /^[^\s<|\\/>]{1,64}$/;

const text = (value: unknown): string => (typeof value === "string" ? value : "");
const object = (value: unknown): Block => (typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Block) : {});

/** Returns the event of one message. */
export function eventOf(item: Item, context: EventContext = {}): EventDraft {
  const { type, data } = item;
  const role = ROLES[type === "generic" || type === "chat" ? text(data["role"]) : type] ?? Role.USER;
  const name = text(data["name"]);
  const content = contentParts(data["content"]);
  const own = { ...context, author: role === Role.TOOL ? undefined : name || undefined };
  if (role === Role.TOOL) {
    const result = resultPart(text(data["tool_call_id"]), name, { parts: content }, data["status"] === "error");
    return eventWith(role, [result], NATIVE, jsonOf(item), own);
  }
  const thought = text(object(data["additional_kwargs"])["reasoning_content"]);
  const reasoned = thought && !content.some((part) => part.content.case === "reasoning") ? [reasoningPart(thought)] : [];
  const event = eventWith(role, [...reasoned, ...content, ...callParts(data)], NATIVE, jsonOf(item), own);
  return { ...event, usage: usageOf(object(data["usage_metadata"])) };
}

/** Returns the messages of one event: the native one, else those of its parts; none without parts. They have the event's id. */
export function itemsOf(event: SessionEvent): Item[] {
  const native = nativeText(event, NATIVE);
  if (native !== undefined) return [valueOf(native) as Item];
  const parts = event.message?.parts ?? [];
  const items = parts.flatMap(({ content }) => (content.case === "toolResult" ? [resultItem(content.value)] : []));
  const others = parts.filter(({ content }) => content.case !== undefined && content.case !== "toolResult");
  if (others.length > 0) items.push(messageItem(event, others));
  return items.map(({ type, data }, place) => ({ type, data: { ...data, id: place === 0 ? event.eventId : `${event.eventId}.${place}` } }));
}

function contentParts(content: unknown): Part[] {
  if (typeof content === "string") return content === "" ? [] : [textPart(content)];
  const blocks = Array.isArray(content) ? (content as (string | Block)[]) : [];
  return blocks.flatMap((block) => (typeof block === "string" ? [textPart(block)] : CALLS.has(text(block["type"])) ? [] : [blockPart(block)]));
}

function blockPart(block: Block): Part {
  const type = text(block["type"]);
  if (type !== "text-plain" && typeof block["text"] === "string") return textPart(block["text"]);
  if (type === "reasoning" || type === "thinking") return reasoningPart(text(block["reasoning"]) || text(block["thinking"]));
  return (type in MEDIA ? blockMedia(type, block) : undefined) ?? dataPart(`langchain.${type || "block"}`, JSON.parse(jsonOf(block)));
}

/** Returns the media of a block, whose source is in its own fields or in an inner object; undefined if it has none. */
function blockMedia(type: string, block: Block): Part | undefined {
  const inner = block["source"] ?? block[type];
  const all: Block = typeof inner === "string" ? { ...block, url: inner } : { ...block, ...object(inner) };
  const extras = object(all["metadata"]);
  const mimeType = text(all["mimeType"]) || text(all["mime_type"]) || (all["format"] ? `audio/${text(all["format"])}` : MEDIA[type]!);
  const name = text(all["filename"]) || text(all["title"]) || text(extras["filename"]) || text(extras["name"]);
  const fields = { mimeType, name, detail: text(all["detail"]) };
  const data = all["data"] ?? all["base64"];
  if (data instanceof Uint8Array) return inlinePart(data, fields);
  if (typeof data === "string") return mediaPart(data.startsWith("data:") ? data : `data:${mimeType};base64,${data}`, fields);
  if (typeof all["url"] === "string") return mediaPart(all["url"], fields);
  const fileId = text(all["fileId"]) || text(all["file_id"]);
  if (fileId) return uploadedPart(fileId, fields);
  return typeof all["text"] === "string" ? inlinePart(new TextEncoder().encode(all["text"]), fields) : undefined;
}

function callParts(data: Block): Part[] {
  const calls = [data["tool_calls"], data["invalid_tool_calls"]].flatMap((each) => (Array.isArray(each) ? (each as Block[]) : []));
  return calls.map(({ id, name, args }) => callPart(text(id), text(name), typeof args === "string" ? args : jsonOf(args ?? {})));
}

function usageOf(usage: Block): EventDraft["usage"] {
  const count = (value: unknown) => BigInt(typeof value === "number" ? Math.max(0, Math.trunc(value)) : 0);
  if (Object.keys(usage).length === 0) return undefined;
  return {
    inputTokens: count(usage["input_tokens"]),
    outputTokens: count(usage["output_tokens"]),
    totalTokens: count(usage["total_tokens"]),
    cachedTokens: count(object(usage["input_token_details"])["cache_read"]),
    reasoningTokens: count(object(usage["output_token_details"])["reasoning"]),
  };
}

function messageItem(event: SessionEvent, parts: readonly Part[]): Item {
  const type = TYPES[event.message!.role] ?? "human";
  const data: Record<string, unknown> = { content: flat(parts) };
  if (NAME.test(event.author)) data["name"] = event.author;
  if (type === "ai") {
    const calls = parts.flatMap(({ content }) => (content.case === "toolCall" ? [callOf(content.value)] : []));
    data["tool_calls"] = calls.filter((call) => call["type"] === "tool_call");
    data["invalid_tool_calls"] = calls.filter((call) => call["type"] !== "tool_call");
  }
  if (type === "tool") data["tool_call_id"] = "";
  return { type, data };
}

function resultItem(result: ToolResultPart): Item {
  const content = result.structuredJson && result.parts.length === 0 ? result.structuredJson : flat(result.parts);
  const data = { content, name: result.name || undefined, tool_call_id: result.callId, status: result.isError ? "error" : "success" };
  return { type: "tool", data };
}

/** Returns content in LangChain's form: a text if there is at most one, otherwise standard blocks. */
function flat(parts: readonly Part[]): string | Block[] {
  const blocks = parts.flatMap(blocksOf);
  if (blocks.length === 0) return "";
  return blocks.length === 1 && blocks[0]!["type"] === "text" ? (blocks[0]!["text"] as string) : blocks;
}

function blocksOf({ content }: Part): Block[] {
  if (content.case === "text") return [{ type: "text", text: content.value }];
  if (content.case === "reasoning") return content.value.text ? [{ type: "reasoning", reasoning: content.value.text }] : [];
  if (content.case === "media") return [mediaBlock(content.value)];
  if (content.case !== "data") return [];
  const block = content.value.type.startsWith("langchain.") ? object(parsed(content.value.json)) : {};
  return "type" in block ? [block] : [{ type: "text", text: content.value.json }];
}

function mediaBlock({ mimeType, name, source }: MediaPart): Block {
  const family = mimeType.split("/")[0]!;
  const where =
    source.case === "data" ? { data: base64Of(source.value) } : source.case === "fileId" ? { fileId: source.value } : { url: source.value ?? "" };
  return {
    type: ["image", "audio", "video"].includes(family) ? family : "file",
    ...(mimeType && !mimeType.includes("*") ? { mimeType } : {}),
    ...where,
    ...(name ? { metadata: { filename: name } } : {}),
  };
}

function callOf({ id, name, argumentsJson }: ToolCallPart): Block {
  const args = argumentsJson.trim() ? parsed(argumentsJson) : {};
  if (typeof args === "object" && args !== null && !Array.isArray(args)) return { name, args, id: id || undefined, type: "tool_call" };
  return { name, args: argumentsJson, id: id || undefined, error: "not a JSON object", type: "invalid_tool_call" };
}

// Events of @google/adk: to events of Threadkeep, and back. An item is the JSON form of an ADK event: camelCase, times in milliseconds.
//
// Python's items are in snake case and seconds: another native format, which is read too, and which has the same typed parts.

import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";

import { Role, type Part, type SessionEvent } from "@threadkeep/client";
import type { ChatMessage } from "@threadkeep/client/v1";

import { contentParts, partsOf } from "./gemini.js";
import { jsonOf, valueOf } from "./json.js";
import { eventWith, nativeText, reasoningProvider, textPart, type EventDraft } from "./parts.js";

/** The native format of an event. */
export const NATIVE = "adk.event.js/1";
/** The native format of Python's events. */
const PYTHON = "adk.event/1";

const PROVIDER = "gemini";
const COMPACTION = "google-adk";
const LONGEST_AUTHOR = 255;
/** Members whose values are data of the program, with names of its own. */
const DATA = new Set([
  "args", "response", "state_delta", "artifact_delta", "requested_auth_configs", "requested_tool_confirmations", "custom_metadata", "output",
  "agent_state",
]);

/** Members whose values are bytes: Python writes them in the other alphabet of base64. */
const BYTES = new Set(["data", "thought_signature"]);

/** An event as plain JSON: the framework's own types are checked by its users. */
export type Item = Record<string, unknown>;

const text = (value: unknown): string => (typeof value === "string" ? value : "");
const object = (value: unknown): Item => (typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Item) : {});

/** Returns the event of an item. What no field of an event can hold is in the native content only. */
export function eventOf(item: Item): EventDraft {
  const author = text(item["author"]);
  const compacted = item["isCompacted"] === true;
  const parts = compacted ? [textPart(text(item["compactedContent"]))] : contentParts(content(item));
  const signed = parts.some((part) => part.content.case === "reasoning" && part.content.value.signature.length > 0);
  const timestamp = item["timestamp"];
  return {
    ...eventWith(roleOf(parts, compacted ? "" : author || text(content(item)["role"])), parts, NATIVE, jsonOf(item), {
      eventId: text(item["id"]),
      author: Buffer.byteLength(author) <= LONGEST_AUTHOR ? author : "",
      branch: branchOf(text(item["branch"])),
      invocationId: text(item["invocationId"]),
    }),
    eventTime: typeof timestamp === "number" && Number.isFinite(timestamp) ? timestampFromMs(timestamp) : undefined,
    usage: usageOf(object(item["usageMetadata"])),
    ...(compacted ? { synthetic: true, compactionSource: COMPACTION } : {}),
    ...(signed ? { metadataJson: JSON.stringify({ reasoning_of: PROVIDER }) } : {}),
  };
}

/** Returns the item of an event: the native one if an ADK wrote it, otherwise one of its parts. `names`: of tools, by call ids. */
export function itemOf(event: SessionEvent, names: ReadonlyMap<string, string> = new Map()): Item {
  const native = nativeText(event, NATIVE);
  if (native !== undefined) return valueOf(native) as Item;
  const python = nativeText(event, PYTHON);
  if (python === undefined) return rendered(event, names);
  const item = camelCased(JSON.parse(python)) as Item;
  return { ...item, timestamp: Math.round(Number(item["timestamp"] ?? 0) * 1_000_000) / 1_000 };
}

/** Returns the time of an event in milliseconds: ADK's own if it has one. */
export function timeOf(event: SessionEvent): number {
  const time = event.eventTime ?? event.recordTime;
  const own = itemOf(event)["timestamp"];
  return typeof own === "number" ? own : time === undefined ? 0 : timestampMs(time);
}

/** Returns the content of a message; undefined without parts. */
export function contentOf(message: ChatMessage | undefined, names: ReadonlyMap<string, string> = new Map(), signed = true): Item | undefined {
  const parts = partsOf(message?.parts ?? [], names, signed);
  return parts.length > 0 ? { role: message!.role === Role.ASSISTANT ? "model" : "user", parts } : undefined;
}

function rendered(event: SessionEvent, names: ReadonlyMap<string, string>): Item {
  const { message, invocationId, branch, author } = event;
  const authors: Partial<Record<Role, string>> = { [Role.USER]: "user", [Role.SYSTEM]: "system" };
  const time = event.eventTime ?? event.recordTime;
  const content = contentOf(message, names, ["", PROVIDER].includes(reasoningProvider(event)));
  return {
    id: event.eventId,
    invocationId,
    author: authors[message?.role ?? Role.USER] ?? (author || "assistant"),
    timestamp: time === undefined ? 0 : timestampMs(time),
    ...(content === undefined ? {} : { content }),
    ...(branch ? { branch } : {}),
    ...(event.usage === undefined ? {} : { usageMetadata: metadataOf(event.usage) }),
  };
}

/** Returns what was said: the content, or in a live session the transcription. */
function content(item: Item): Item {
  if (item["content"] !== undefined && item["content"] !== null) return object(item["content"]);
  for (const [name, role] of [["inputTranscription", "user"], ["outputTranscription", "model"]] as const) {
    const said = text(object(item[name])["text"]);
    if (said) return { role, parts: [{ text: said }] };
  }
  return {};
}

/** Returns the role: results of functions are TOOL; otherwise what the user wrote is USER. */
function roleOf(parts: readonly Part[], author: string): Role {
  if (parts.some((part) => part.content.case === "toolResult")) return Role.TOOL;
  return parts.length > 0 && author === "user" ? Role.USER : Role.ASSISTANT;
}

/** Returns the branch if an event can have it; a path has no empty segments. Others are in the item only. */
function branchOf(branch: string): string {
  const segments = branch.split(".");
  return segments.every(Boolean) && segments.length <= 64 && Buffer.byteLength(branch) <= 1024 ? branch : "";
}

function usageOf(counts: Item): EventDraft["usage"] {
  if (Object.keys(counts).length === 0) return undefined;
  const sum = (...names: string[]) => BigInt(names.reduce((total, name) => total + Math.trunc(Number(counts[name] ?? 0)), 0));
  return {
    inputTokens: sum("promptTokenCount", "toolUsePromptTokenCount"),
    outputTokens: sum("candidatesTokenCount", "thoughtsTokenCount"),
    totalTokens: sum("totalTokenCount"),
    cachedTokens: sum("cachedContentTokenCount"),
    reasoningTokens: sum("thoughtsTokenCount"),
  };
}

const metadataOf = (usage: NonNullable<SessionEvent["usage"]>): Item => ({
  promptTokenCount: Number(usage.inputTokens),
  candidatesTokenCount: Number(usage.outputTokens - usage.reasoningTokens),
  thoughtsTokenCount: Number(usage.reasoningTokens),
  cachedContentTokenCount: Number(usage.cachedTokens),
  totalTokenCount: Number(usage.totalTokens),
});

function camelCased(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camelCased);
  if (typeof value !== "object" || value === null) return value;
  const valueOfMember = (name: string, each: unknown) =>
    DATA.has(name) ? each : BYTES.has(name) && typeof each === "string" ? standardBase64(each) : camelCased(each);
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [camelName(name), valueOfMember(name, each)]));
}

function standardBase64(encoded: string): string {
  const text = encoded.replace(/-/g, "+").replace(/_/g, "/");
  return text + "=".repeat(-text.length & 3);
}

const camelName = (name: string) => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

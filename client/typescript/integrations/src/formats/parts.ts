// The typed parts of events, which the formats of all frameworks share.

import { create, type MessageInitShape } from "@bufbuild/protobuf";

import type { EventInit, Part, Role, SessionEvent } from "@threadkeep/client";
import { PartSchema, type MediaPart, type ToolCallPart, type ToolResultPart } from "@threadkeep/client/v1";

import { base64Of, bytesOf, parsed } from "./json.js";

const DATA_URL = /^data:([^;,]*)(?:;[^,]*)?;base64,(.*)$/s;
const ENCODER = new TextEncoder();
const DECODER = new TextDecoder();

/** Fields of an event that a framework's item does not have. */
export interface EventContext {
  /** Id of the event. Default: the client generates one when it sends the event. */
  eventId?: string | undefined;
  /** Id of the agent that wrote the event. */
  author?: string | undefined;
  /** Dotted path of the agent branch. */
  branch?: string | undefined;
  /** Id of the agent run. */
  invocationId?: string | undefined;
}

/** An event to append, as its fields. */
export type EventDraft = Exclude<EventInit, SessionEvent>;

/** Returns an event with typed parts, and a framework's own JSON text as its native content. */
export function eventWith(role: Role, parts: Part[], format: string, json: string, context: EventContext = {}): EventDraft {
  return { ...context, message: { role, parts }, native: { format, content: ENCODER.encode(json) } };
}

/** Returns the text of the native content if it has this format; undefined otherwise. */
export function nativeText(event: SessionEvent, format: string): string | undefined {
  return event.native?.format === format ? DECODER.decode(event.native.content) : undefined;
}

const part = (content: MessageInitShape<typeof PartSchema>["content"]): Part => create(PartSchema, { content });

export const textPart = (value: string): Part => part({ case: "text", value });

export const reasoningPart = (text: string, encrypted = ""): Part =>
  part({ case: "reasoning", value: { text, encrypted: ENCODER.encode(encrypted) } });

export const callPart = (id: string, name: string, argumentsJson: string, kind = "function"): Part =>
  part({ case: "toolCall", value: { id, name, argumentsJson, kind } });

/** Returns a tool result with parts, structured JSON text, or both. */
export function resultPart(callId: string, name: string, content: { parts?: Part[]; json?: string }, isError = false): Part {
  return part({ case: "toolResult", value: { callId, name, parts: content.parts ?? [], structuredJson: content.json ?? "", isError } });
}

/** Returns content that no other part represents, with a type in the framework's terms. */
export const dataPart = (type: string, value: unknown): Part => part({ case: "data", value: { type, json: JSON.stringify(value) ?? "null" } });

/** What media has in addition to its source. */
type MediaFields = { mimeType?: string | undefined; name?: string | undefined; detail?: string | undefined };

/** Returns media of a URL; a data URL becomes inline bytes. `mimeType`: of media whose URL and name do not say it. */
export function mediaPart(url: string, { mimeType = "", name = "", detail = "" }: MediaFields = {}): Part {
  const [, type, data] = DATA_URL.exec(url) ?? [];
  if (data !== undefined) return inlinePart(bytesOf(data), { mimeType: type || guessed(name) || mimeType, name, detail });
  const known = guessed(name) || guessed(url.replace(/[?#].*$/s, "")) || mimeType;
  return part({ case: "media", value: { mimeType: known, name, detail, source: { case: "uri", value: url } } });
}

/** Returns the media type of a name's extension; empty if it says none. */
const guessed = (name: string): string => TYPES[/\.([a-z0-9]+)$/i.exec(name)?.[1]?.toLowerCase() ?? ""] ?? "";

const TYPES: Record<string, string> = {
  png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", gif: "image/gif", webp: "image/webp", svg: "image/svg+xml",
  mp3: "audio/mpeg", wav: "audio/x-wav", ogg: "audio/ogg", mp4: "video/mp4", webm: "video/webm",
  pdf: "application/pdf", json: "application/json", csv: "text/csv", txt: "text/plain", html: "text/html", md: "text/markdown",
};

/** Returns media with its bytes. */
export const inlinePart = (data: Uint8Array, { mimeType = "", name = "", detail = "" }: MediaFields = {}): Part =>
  part({ case: "media", value: { mimeType, name, detail, source: { case: "data", value: data } } });

/** Returns media that was uploaded to the provider. */
export const uploadedPart = (fileId: string, { mimeType = "", name = "", detail = "" }: MediaFields = {}): Part =>
  part({ case: "media", value: { mimeType, name, detail, source: { case: "fileId", value: fileId } } });

/** Returns the URL of media: a data URL for inline bytes; undefined for an uploaded file. */
export function urlOf({ source, mimeType }: MediaPart): string | undefined {
  if (source.case === "data") return `data:${mimeType};base64,${base64Of(source.value)}`;
  return source.case === "uri" ? source.value : undefined;
}

/** Returns the arguments of a tool call as a value: an object if the model wrote one. */
export const argumentsOf = ({ argumentsJson }: ToolCallPart): unknown => (argumentsJson === "" ? {} : (parsed(argumentsJson) ?? argumentsJson));

/** Returns the texts of parts, joined by line feeds. */
export const textsOf = (parts: readonly Part[]): string =>
  parts.flatMap(({ content }) => (content.case === "text" ? [content.value] : [])).join("\n");

/** Returns a result as text: its texts, else its structured JSON. */
export const resultText = (result: ToolResultPart): string => textsOf(result.parts) || result.structuredJson;

/** Returns a result as a value: its text, read as JSON if it is JSON. */
export function resultValue(result: ToolResultPart): unknown {
  const text = resultText(result);
  return parsed(text) ?? text;
}

/** Returns the provider that signed or encrypted the event's reasoning; empty if the event does not say. */
export function reasoningProvider(event: SessionEvent): string {
  const metadata = parsed(event.metadataJson) as { reasoning_of?: unknown } | undefined;
  return typeof metadata?.reasoning_of === "string" ? metadata.reasoning_of : "";
}

/** Returns the names of tools by the ids of their calls, for results that have no name. */
export function callNames(events: readonly SessionEvent[]): Map<string, string> {
  const names = new Map<string, string>();
  for (const { content } of events.flatMap(({ message }) => message?.parts ?? [])) {
    if (content.case === "toolCall") names.set(content.value.id, content.value.name);
  }
  return names;
}

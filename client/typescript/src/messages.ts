// Builds events and reads their text.

import { create, type MessageInitShape } from "@bufbuild/protobuf";

import { SessionEventSchema, type SessionEvent } from "./gen/threadkeep/v1/event_pb.js";
import type { MemoryEntry } from "./gen/threadkeep/v1/memory_pb.js";
import { PartSchema, Role, type Part } from "./gen/threadkeep/v1/message_pb.js";
import { jsonText, type Json } from "./requests.js";

/** A text, or texts and parts in order. */
export type Content = string | readonly (string | MessageInitShape<typeof PartSchema>)[];

/** An event to append: the result of a builder, or the fields of a SessionEvent. */
export type EventInit = MessageInitShape<typeof SessionEventSchema>;

/**
 * Fields of an event other than its message. Without an `eventId`, the idempotency key, the client generates one when it
 * sends the event.
 */
export type EventFields = Omit<EventInit, "message" | "$typeName" | "$unknown">;

/** Returns a user message. On the root branch it starts a turn. */
export const user = (content: Content, fields?: EventFields) => event(Role.USER, content, fields);

/** Returns a model message, with its tool calls: `assistant(["Let me look.", toolCall("c1", "find", { id: 7 })])`. */
export const assistant = (content: Content, fields?: EventFields) => event(Role.ASSISTANT, content, fields);

/** Returns instructions to the model. */
export const system = (content: Content, fields?: EventFields) => event(Role.SYSTEM, content, fields);

/** Returns a tool call, as a part for `assistant`. */
export function toolCall(id: string, name: string, args: Json): Part {
  return create(PartSchema, { content: { case: "toolCall", value: { id, name, kind: "function", argumentsJson: jsonText(args) } } });
}

/** Returns a part of plain text. In contents, a string is the same. */
export const text = (value: string): Part => create(PartSchema, { content: { case: "text", value } });

/** Returns a part with reasoning of the model; `signature` and `encrypted` are the provider's, verbatim. */
export function reasoning(value: string, provider: { signature?: Uint8Array; encrypted?: Uint8Array } = {}): Part {
  return create(PartSchema, { content: { case: "reasoning", value: { text: value, ...provider } } });
}

/** Returns a part with media, inline or by reference. */
export function media(mimeType: string, source: { uri: string } | { data: Uint8Array }, name = ""): Part {
  const where = "uri" in source ? ({ case: "uri", value: source.uri } as const) : ({ case: "data", value: source.data } as const);
  return create(PartSchema, { content: { case: "media", value: { mimeType, name, source: where } } });
}

/** The result of a tool call: a text or parts, or what is more. */
export type ToolOutput =
  | Content
  | {
      /** Name of the tool. */
      name?: string | undefined;
      /** Result as text or parts. */
      content?: Content | undefined;
      /** Result as structured JSON. */
      json?: Json | undefined;
    };

/** Returns the event with the result of one tool call: `toolResult("c1", "18:40")`, `toolResult("c1", { json: { at: "18:40" } })`. */
export const toolResult = (callId: string, output: ToolOutput, fields?: EventFields) => resultOf(callId, output, false, fields);

/** Returns the event with the failure of one tool call, which the output describes. */
export const toolError = (callId: string, output: ToolOutput, fields?: EventFields) => resultOf(callId, output, true, fields);

function resultOf(callId: string, output: ToolOutput, isError: boolean, fields?: EventFields): SessionEvent {
  const { name, content = [], json } = typeof output === "string" || isContent(output) ? { content: output } : output;
  const value = { callId, name, parts: partsOf(content), structuredJson: json === undefined ? undefined : jsonText(json), isError };
  return event(Role.TOOL, [{ content: { case: "toolResult", value } }], fields);
}

const isContent = (output: Exclude<ToolOutput, string>): output is Exclude<Content, string> => Array.isArray(output);

/** Returns the text of an event or a memory as search sees it: its text parts, joined by line feeds. Empty if there is none. */
export function textOf(said: SessionEvent | MemoryEntry | undefined): string {
  const message = said?.$typeName === "threadkeep.v1.MemoryEntry" ? said.content : said?.message;
  const texts = message?.parts.flatMap(({ content }) => (content.case === "text" ? [content.value] : []));
  return texts?.join("\n") ?? "";
}

/** Returns a UUIDv7. Ids sort by creation time in milliseconds. */
export function newEventId(): string {
  const random = crypto.getRandomValues(new Uint8Array(10));
  random[0] = 0x70 | (random[0]! & 0x0f);
  random[2] = 0x80 | (random[2]! & 0x3f);
  const time = Date.now().toString(16).padStart(12, "0");
  const rest = Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${time.slice(0, 8)}-${time.slice(8)}-${rest.slice(0, 4)}-${rest.slice(4, 8)}-${rest.slice(8)}`;
}

function event(role: Role, content: Content, fields?: EventFields): SessionEvent {
  return create(SessionEventSchema, { ...fields, message: { role, parts: partsOf(content) } });
}

function partsOf(content: Content) {
  const items = typeof content === "string" ? [content] : content;
  return items.map((item) => (typeof item === "string" ? { content: { case: "text", value: item } as const } : item));
}

// Building events, and reading their text.

import { clone, create, isMessage, type MessageInitShape } from "@bufbuild/protobuf";

import { jsonText, type Json } from "./convert.js";
import { SessionEventSchema, type SessionEvent } from "./gen/recollect/v1/event_pb.js";
import { PartSchema, Role, type Part } from "./gen/recollect/v1/message_pb.js";

/** A text, a part, or several of both. */
export type Content = string | Part | readonly (string | Part)[];

/**
 * What an event may carry beside its message: the fields of SessionEvent, with `metadata`, a JSON object of at most 256 KiB or
 * its text. Without an `eventId`, the idempotency key, the client makes one when it sends the event.
 */
export type EventFields = Omit<MessageInitShape<typeof SessionEventSchema>, "message" | "$typeName" | "metadataJson"> & { metadata?: Json };

/** What is appended: an event of a builder, or the fields of a SessionEvent. */
export type EventInit = MessageInitShape<typeof SessionEventSchema>;

/** An event whose message has this role and content. */
export function event(role: Role, content: Content, fields: EventFields = {}): SessionEvent {
  const { metadata, ...others } = fields;
  const message = { role, parts: partsOf(content, "content") };
  return create(SessionEventSchema, { ...others, message, metadataJson: jsonText(metadata, "metadata") });
}

/** What the user said. On the root branch it starts a turn. */
export function user(content: Content, fields?: EventFields): SessionEvent {
  return event(Role.USER, content, fields);
}

/** What the model said, followed by the tool calls it asks for; see `toolCall`. */
export function assistant(content: Content, fields: EventFields & { toolCalls?: readonly Part[] } = {}): SessionEvent {
  const { toolCalls = [], ...others } = fields;
  return event(Role.ASSISTANT, [...partsOf(content, "content"), ...partsOf(toolCalls, "toolCalls")], others);
}

/** Instructions to the model. */
export function system(content: Content, fields?: EventFields): SessionEvent {
  return event(Role.SYSTEM, content, fields);
}

/** The result of one tool call. */
export interface ToolResult {
  /** The id of the call it answers. */
  callId: string;
  /** The tool's name. */
  name?: string;
  /** The result as text or parts. Give this or `json`. */
  content?: Content;
  /** The result as structured JSON. */
  json?: Json;
  /** The tool failed; the content says how. */
  isError?: boolean;
}

/** The event that answers one tool call. For several in one event: `event(Role.TOOL, [toolResultPart(...), ...])`. */
export function toolResult(result: ToolResult, fields?: EventFields): SessionEvent {
  return event(Role.TOOL, toolResultPart(result), fields);
}

/** The part that answers one tool call. */
export function toolResultPart({ callId, name = "", content, json, isError = false }: ToolResult): Part {
  const parts = content === undefined ? [] : partsOf(content, "content");
  const value = { callId, name, parts, structuredJson: jsonText(json, "json"), isError };
  return create(PartSchema, { content: { case: "toolResult", value } });
}

/** A request to call a tool. Arguments given as text are kept verbatim, others are written as compact JSON. */
export function toolCall(id: string, name: string, args: Json, kind = "function"): Part {
  const value = { id, name, kind, argumentsJson: jsonText(args, "args") };
  return create(PartSchema, { content: { case: "toolCall", value } });
}

/** Plain text: what keyword filters and search look at. */
export function text(value: string): Part {
  if (typeof value !== "string") throw new TypeError(`text must be a string, not ${typeof value}`);
  return create(PartSchema, { content: { case: "text", value: { text: value } } });
}

/** The event's text as search sees it: its text parts joined by a line feed. Empty when it has none. */
export function textOf(event: SessionEvent): string {
  const texts = event.message?.parts.map((part) => (part.content.case === "text" ? part.content.value.text : undefined));
  return texts?.filter((each) => each !== undefined).join("\n") ?? "";
}

function partsOf(content: Content, argument: string): Part[] {
  const items = typeof content === "string" || isMessage(content, PartSchema) ? [content] : content;
  if (!Array.isArray(items)) throw new TypeError(`${argument} must be a text, a Part or an array of them`);
  return items.map((item: unknown, n) => {
    if (typeof item === "string") return text(item);
    if (isMessage(item, PartSchema)) return item;
    throw new TypeError(`${argument}[${n}] must be a text or a Part`);
  });
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const ID_BYTES = 10; // a counter's first value, and 62 random bits
const randomness = new Uint8Array(256 * ID_BYTES);
let used = randomness.length;
let lastMillisecond = 0;
let counter = 0;

/** A UUIDv7: the ids of a process sort in the order they were made. */
export function newEventId(): string {
  if (used === randomness.length) {
    crypto.getRandomValues(randomness); // a call of it costs more than the rest of this function
    used = 0;
  }
  const random = randomness.subarray(used, (used += ID_BYTES));
  const now = Date.now();
  if (now > lastMillisecond) {
    lastMillisecond = now;
    counter = ((random[0]! << 8) | random[1]!) & 0x3ff; // leaves room for 3,072 more in this millisecond
  } else if (++counter > 0xfff) {
    lastMillisecond += 1;
    counter = 0;
  }
  const time = lastMillisecond.toString(16).padStart(12, "0");
  const count = (0x7000 | counter).toString(16);
  const tail = Array.from(random.subarray(2), (byte, n) => HEX[n === 0 ? 0x80 | (byte & 0x3f) : byte]).join("");
  return `${time.slice(0, 8)}-${time.slice(8)}-${count}-${tail.slice(0, 4)}-${tail.slice(4)}`;
}

/** Copies of the events, each with an id. Append these, and again after an error: nothing is stored twice. */
export function withIds(events: readonly EventInit[]): SessionEvent[] {
  return events.map((each) => {
    const copy = clone(SessionEventSchema, create(SessionEventSchema, each));
    copy.eventId ||= newEventId();
    return copy;
  });
}

// Messages of Mastra's storage: from a message to its events, and back.

import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { Role, type EventInit, type Part, type SessionEvent } from "@threadkeep/client";
import type { ToolResultPart } from "@threadkeep/client/v1";

import { jsonOf } from "./json.js";
import { argumentsOf, callPart, dataPart, mediaPart, reasoningPart, resultPart, textPart, urlOf } from "./parts.js";
import * as steps from "./steps.js";
import { dataOf, outputOf, textOr as text, type Dialect, type MessagePart } from "./steps.js";

/** A message as plain JSON, except that `createdAt` is a date in what is stored, and a text in between. */
export interface Message {
  id: string;
  role: "system" | "user" | "assistant" | "signal";
  createdAt: Date | string;
  threadId?: string;
  resourceId?: string;
  type?: string;
  content: { format: 2; parts: MessagePart[]; metadata?: Record<string, unknown> } & Record<string, unknown>;
}

/** A message as it was read: its events, in window order. */
export type Stored = steps.Stored<Message>;

/** Signals are messages of the system to the model in a user's place. */
const ROLES = { system: Role.SYSTEM, user: Role.USER, assistant: Role.ASSISTANT, signal: Role.USER };

const DIALECT: Dialect<Message> = {
  native: "mastra.message/1",
  continued: "mastra.message.continued/1",
  roleOf: ({ role }) => ROLES[role],
  partsOf: ({ content }) => content.parts,
  withParts: (message, parts) => ({ ...message, content: { ...message.content, parts } }),
  callIdOf: (part) => (part.type === "tool-invocation" ? text(invocationOf(part)["toolCallId"]) : undefined),
  typed,
  resultsOf,
  begun,
  rendered,
  settle,
};

/** Returns the events of one message; see `steps.eventsOf`. Their time is that of the message. */
export function eventsOf(message: Message, author?: string): EventInit[] {
  const eventTime = timestampFromDate(new Date(message.createdAt));
  return steps.eventsOf(DIALECT, withParts(message), { author }).map((event) => ({ ...event, eventTime }));
}

/** Returns the event that takes the place of one that a message does not have any more. */
export const emptied = (event: Parameters<typeof steps.emptied>[1], messageId: string): EventInit => steps.emptied(DIALECT, event, messageId);

/** Returns the messages of events, which are in window order. */
export function storedOf(events: readonly SessionEvent[]): Stored[] {
  const found = steps.storedOf(DIALECT, events);
  for (const { message } of found) message.createdAt = new Date(message.createdAt);
  return found;
}

/** Returns a message whose content has parts: old ones have a text only. */
function withParts(message: Message): Message {
  if (Array.isArray(message.content.parts)) return message;
  const content = (typeof message.content === "string" ? { content: message.content } : message.content) as Message["content"];
  const parts = typeof content["content"] === "string" ? [{ type: "text", text: content["content"] }] : [];
  return { ...message, content: { ...content, format: 2, parts } };
}

const invocationOf = (part: MessagePart) => part["toolInvocation"] as Record<string, unknown>;

function typed(part: MessagePart): Part[] {
  switch (part.type) {
    case "text":
      return [textPart(text(part["text"]))];
    case "reasoning": {
      const details = (part["details"] ?? []) as { text?: string }[];
      return [reasoningPart(text(part["reasoning"]) || text(part["text"]) || details.map((each) => each.text ?? "").join(""))];
    }
    case "tool-invocation": {
      const { toolCallId, toolName, args, rawInput } = invocationOf(part);
      const kind = part["providerExecuted"] === true ? "provider" : "function";
      return [callPart(text(toolCallId), text(toolName), jsonOf(args ?? rawInput ?? {}), kind)];
    }
    case "file":
      return [filePart(part)];
    case "step-start":
      return [];
    default:
      return [dataPart(`mastra.${part.type}`, part)];
  }
}

/** Returns the media of a file: its data is a URL or base64. */
function filePart(part: MessagePart): Part {
  const mimeType = text(part["mimeType"]) || text(part["mediaType"]);
  const source = text(part["data"]) || text(part["url"]);
  const isUrl = /^[a-z][a-z0-9+.-]*:/i.test(source);
  return mediaPart(isUrl ? source : `data:${mimeType};base64,${source}`, { mimeType, name: text(part["filename"]) });
}

function resultsOf(part: MessagePart): Part[] {
  if (part.type !== "tool-invocation" || part["preliminary"] === true) return [];
  const { state, toolCallId, toolName, result, isError, errorText, approval } = invocationOf(part);
  const [id, name] = [text(toolCallId), text(toolName)];
  if (state === "output-error") return [resultPart(id, name, { parts: [textPart(text(errorText))] }, true)];
  if (state === "output-denied") {
    const { reason = "The call was denied." } = (approval ?? {}) as { reason?: string };
    return [resultPart(id, name, { parts: [textPart(reason)] }, true)];
  }
  if (state !== "result") return [];
  const content = typeof result === "string" ? { parts: [textPart(result)] } : { json: jsonOf(result ?? null) };
  return [resultPart(id, name, content, isError === true)];
}

function begun({ eventId, eventTime, recordTime }: SessionEvent, role: Role): Message {
  const time = eventTime ?? recordTime;
  const named = role === Role.USER ? "user" : role === Role.SYSTEM ? "system" : "assistant";
  return { id: eventId, role: named, createdAt: time === undefined ? new Date(0) : timestampDate(time), content: { format: 2, parts: [] } };
}

function rendered({ content }: Part): MessagePart[] {
  switch (content.case) {
    case "text":
      return [{ type: "text", text: content.value }];
    case "reasoning":
      return [{ type: "reasoning", reasoning: content.value.text, details: [{ type: "text", text: content.value.text }] }];
    case "toolCall": {
      const { id, name } = content.value;
      return [{ type: "tool-invocation", toolInvocation: { state: "call", toolCallId: id, toolName: name, args: argumentsOf(content.value) } }];
    }
    case "media": {
      const { mimeType, name, source } = content.value;
      const url = urlOf(content.value);
      if (url === undefined) return [{ type: "data-file", data: { fileId: source.value, mimeType, filename: name } }];
      return [{ type: "file", mimeType: mimeType || "application/octet-stream", ...(name ? { filename: name } : {}), data: url }];
    }
    case "data":
      return [dataOf("mastra", content.value)];
    default:
      return [];
  }
}

function settle(part: MessagePart, result: ToolResultPart): void {
  const output = outputOf({ rendered }, result);
  Object.assign(invocationOf(part), { state: "result", result: output }, result.isError ? { isError: true } : {});
}

// UI messages of the AI SDK: from a message to its events, and back.

import { Role, type EventInit, type Part, type SessionEvent } from "@threadkeep/client";
import type { ToolResultPart } from "@threadkeep/client/v1";

import { jsonOf } from "./json.js";
import { argumentsOf, callPart, dataPart, mediaPart, reasoningPart, resultPart, textPart, uploadedPart, urlOf } from "./parts.js";
import * as steps from "./steps.js";
import { dataOf, isObject, outputOf, textOr as text, type Dialect, type MessagePart } from "./steps.js";

/** A message as plain JSON. */
export interface Message {
  id: string;
  role: "system" | "user" | "assistant";
  metadata?: unknown;
  parts: MessagePart[];
}

/** A message as it was read: its events, in window order. */
export type Stored = steps.Stored<Message>;

const ROLES = { system: Role.SYSTEM, user: Role.USER, assistant: Role.ASSISTANT };

const DIALECT: Dialect<Message> = {
  native: "ai-sdk.ui-message/1",
  continued: "ai-sdk.ui-message.continued/1",
  roleOf: ({ role }) => ROLES[role],
  partsOf: ({ parts }) => parts,
  withParts: (message, parts) => ({ ...message, parts }),
  callIdOf: (part) => (isTool(part) ? text(part["toolCallId"]) : undefined),
  typed,
  resultsOf,
  begun: ({ eventId }, role) => ({ id: eventId, role: role === Role.USER ? "user" : role === Role.SYSTEM ? "system" : "assistant", parts: [] }),
  rendered,
  settle,
};

/** Returns the events of one message; see `steps.eventsOf`. `author`: of an assistant message. */
export function eventsOf(message: Message, author?: string): EventInit[] {
  const [first, ...rest] = steps.eventsOf(DIALECT, message, { author });
  return [isObject(message.metadata) ? { ...first, metadataJson: JSON.stringify(message.metadata) } : first!, ...rest];
}

/** Returns the event that takes the place of one that a message does not have any more. */
export const emptied = (event: SessionEvent, messageId: string): EventInit => steps.emptied(DIALECT, event, messageId);

/** Returns the messages of events, which are in window order. */
export const storedOf = (events: readonly SessionEvent[]): Stored[] => steps.storedOf(DIALECT, events);

const isTool = ({ type }: MessagePart) => type.startsWith("tool-") || type === "dynamic-tool";
const toolName = (part: MessagePart) => (part.type === "dynamic-tool" ? text(part["toolName"]) : part.type.slice("tool-".length));

function typed(part: MessagePart): Part[] {
  if (isTool(part)) {
    // While the model writes the input, only what it wrote so far is complete.
    const input = part["state"] === "input-streaming" ? (part["rawInput"] ?? part["input"]) : (part["input"] ?? part["rawInput"]);
    const written = typeof input === "string" ? input : jsonOf(input ?? {});
    return [callPart(text(part["toolCallId"]), toolName(part), written, part["providerExecuted"] === true ? "provider" : "function")];
  }
  switch (part.type) {
    case "text":
      return [textPart(text(part["text"]))];
    case "reasoning":
      return [reasoningPart(text(part["text"]), encrypted(part["providerMetadata"]))];
    case "file":
    case "reasoning-file": {
      const [uploaded] = Object.values((part["providerReference"] ?? {}) as Record<string, string>);
      const fields = { mimeType: text(part["mediaType"]), name: text(part["filename"]) };
      return [uploaded === undefined ? mediaPart(text(part["url"]), fields) : uploadedPart(uploaded, fields)];
    }
    case "step-start":
      return [];
    default:
      return [dataPart(`ai-sdk.${part.type}`, part)];
  }
}

/** Returns reasoning that only the provider can read, of the provider that keeps it in its metadata. */
function encrypted(metadata: unknown): string {
  const { openai } = (metadata ?? {}) as { openai?: { reasoningEncryptedContent?: unknown } };
  return text(openai?.reasoningEncryptedContent);
}

function resultsOf(part: MessagePart): Part[] {
  if (!isTool(part)) return [];
  const [id, name, output] = [text(part["toolCallId"]), toolName(part), part["output"]];
  if (part["state"] === "output-error") return [resultPart(id, name, { parts: [textPart(text(part["errorText"]))] }, true)];
  if (part["state"] === "output-denied") {
    const { reason = "The call was denied." } = (part["approval"] ?? {}) as { reason?: string };
    return [resultPart(id, name, { parts: [textPart(reason)] }, true)];
  }
  if (part["state"] !== "output-available" || part["preliminary"] === true) return [];
  return [resultPart(id, name, typeof output === "string" ? { parts: [textPart(output)] } : { json: jsonOf(output ?? null) })];
}

function rendered({ content }: Part): MessagePart[] {
  switch (content.case) {
    case "text":
      return [{ type: "text", text: content.value }];
    case "reasoning":
      return [{ type: "reasoning", text: content.value.text }];
    case "toolCall": {
      const { id, name } = content.value;
      return [{ type: "dynamic-tool", toolName: name, toolCallId: id, state: "input-available", input: argumentsOf(content.value) }];
    }
    case "media": {
      const { mimeType, name, source } = content.value;
      const url = urlOf(content.value);
      if (url === undefined) return [{ type: "data-file", data: { fileId: source.value, mediaType: mimeType, filename: name } }];
      return [{ type: "file", mediaType: mimeType || "application/octet-stream", ...(name ? { filename: name } : {}), url }];
    }
    case "data":
      return [dataOf("ai-sdk", content.value)];
    default:
      return [];
  }
}

function settle(part: MessagePart, result: ToolResultPart): void {
  const output = outputOf({ rendered }, result);
  if (result.isError) Object.assign(part, { state: "output-error", errorText: typeof output === "string" ? output : JSON.stringify(output) });
  else Object.assign(part, { state: "output-available", output });
}

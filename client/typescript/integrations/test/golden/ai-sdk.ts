// The golden conversation in messages of the AI SDK.

import type { UIMessage } from "ai";
import type { Client } from "@threadkeep/client";

import { ThreadkeepChats } from "../../src/ai-sdk.js";
import { PIXEL, type Atom } from "../atoms.js";

const input = (city: string, more: object = {}) => ({ city, ...more });

/** The question, and the answer as far as it is when the run is interrupted: a person has to approve the booking. */
const QUESTION: UIMessage = {
  id: "question",
  role: "user",
  parts: [
    { type: "text", text: "Compare the weather in Lisbon and Oslo with this map." },
    { type: "file", mediaType: "image/png", filename: "map.png", url: `data:image/png;base64,${PIXEL}` },
  ],
};

function answer(booked: boolean): UIMessage {
  const book = { type: "tool-book", toolCallId: "call_book", input: input("Lisbon", { nights: 2 }) } as const;
  return {
    id: "answer",
    role: "assistant",
    parts: [
      { type: "step-start" },
      { type: "reasoning", text: "Two cities need two calls.", state: "done" },
      { type: "text", text: "Let me look at both.", state: "done" },
      { type: "tool-weather", toolCallId: "call_lisbon", state: "output-available", input: input("Lisbon"), output: { celsius: 21, sky: "clear" } },
      { type: "tool-weather", toolCallId: "call_oslo", state: "output-error", input: input("Oslo"), errorText: "the station is offline" },
      { type: "step-start" },
      { type: "text", text: "Lisbon has 21 °C. Oslo's station is offline. Shall I book Lisbon?", state: "done" },
      booked
        ? { ...book, state: "output-available", output: { booked: true }, approval: { id: "approval", approved: true } }
        : { ...book, state: "approval-requested", approval: { id: "approval" } },
      ...(booked ? ([{ type: "step-start" }, { type: "text", text: "Booked. Enjoy Lisbon. 🌞", state: "done" }] as const) : []),
    ],
  };
}

/** Writes the conversation. */
export async function write(client: Client, sessionId: string): Promise<void> {
  const chats = new ThreadkeepChats(client);
  await chats.createChat({ id: sessionId });
  await chats.saveChat({ chatId: sessionId, messages: [QUESTION] });
  await chats.saveChat({ chatId: sessionId, messages: [QUESTION, answer(false)] });
  await chats.saveChat({ chatId: sessionId, messages: [QUESTION, answer(true)] });
}

/** Reads a conversation. */
export async function read(client: Client, sessionId: string): Promise<Atom[]> {
  const messages = await new ThreadkeepChats(client).loadChat(sessionId, { validate: true });
  return messages.flatMap(atomsOf);
}

/** Returns the atoms of a message. The results of a step come after its calls. */
function atomsOf({ role, parts }: UIMessage): Atom[] {
  const [atoms, results] = [[] as Atom[], [] as Atom[]];
  for (const part of parts) {
    const isTool = "toolCallId" in part;
    if (!isTool) atoms.push(...results.splice(0));
    if (part.type === "text") atoms.push({ role, kind: "text", text: part.text });
    else if (part.type === "reasoning") atoms.push({ role, kind: "reasoning", text: part.text });
    else if (part.type === "file") atoms.push({ role, kind: "media", mime: part.mediaType, data: part.url.split(",")[1] ?? part.url });
    else if (isTool) {
      const name = "toolName" in part ? part.toolName : part.type.slice("tool-".length);
      atoms.push({ role, kind: "call", id: part.toolCallId, name, arguments: part.input });
      if (part.state === "output-available") results.push({ role: "tool", kind: "result", id: part.toolCallId, value: part.output, error: false });
      if (part.state === "output-error") results.push({ role: "tool", kind: "result", id: part.toolCallId, value: part.errorText, error: true });
    }
  }
  return [...atoms, ...results];
}

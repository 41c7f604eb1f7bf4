// The golden conversation in messages of Mastra's storage.

import type { MastraDBMessage } from "@mastra/core/memory";
import type { Client } from "@threadkeep/client";

import { ThreadkeepMemoryStorage } from "../../src/mastra.js";
import { PIXEL, type Atom } from "../atoms.js";

type Part = { type: string } & Record<string, unknown>;

const call = (toolCallId: string, toolName: string, args: object, state: object): Part => ({
  type: "tool-invocation",
  toolInvocation: { state: "call", toolCallId, toolName, args, ...state },
});

const QUESTION: Part[] = [
  { type: "text", text: "Compare the weather in Lisbon and Oslo with this map." },
  { type: "file", mimeType: "image/png", data: PIXEL },
];

/** The answer as far as it is when the run is interrupted, and with the result of the booking. */
const answer = (booked: boolean): Part[] => [
  { type: "step-start" },
  { type: "reasoning", reasoning: "Two cities need two calls.", details: [{ type: "text", text: "Two cities need two calls." }] },
  { type: "text", text: "Let me look at both." },
  call("call_lisbon", "weather", { city: "Lisbon" }, { state: "result", result: { celsius: 21, sky: "clear" } }),
  call("call_oslo", "weather", { city: "Oslo" }, { state: "result", result: "the station is offline", isError: true }),
  { type: "step-start" },
  { type: "text", text: "Lisbon has 21 °C. Oslo's station is offline. Shall I book Lisbon?" },
  call("call_book", "book", { city: "Lisbon", nights: 2 }, booked ? { state: "result", result: { booked: true } } : {}),
  ...(booked ? [{ type: "step-start" }, { type: "text", text: "Booked. Enjoy Lisbon. 🌞" }] : []),
];

/** Writes the conversation. */
export async function write(client: Client, sessionId: string): Promise<void> {
  const storage = new ThreadkeepMemoryStorage(client);
  const now = Date.now();
  const message = (role: "user" | "assistant", number: number, parts: Part[]) =>
    ({ id: `${sessionId}-${role}`, threadId: sessionId, resourceId: "ada", role, createdAt: new Date(now + number), content: { format: 2, parts } }) as MastraDBMessage;
  await storage.saveThread({ thread: { id: sessionId, resourceId: "ada", createdAt: new Date(now), updatedAt: new Date(now) } });
  await storage.saveMessages({ messages: [message("user", 0, QUESTION)] });
  await storage.saveMessages({ messages: [message("assistant", 1, answer(false))] });
  await storage.saveMessages({ messages: [message("assistant", 1, answer(true))] });
}

/** Reads a conversation. */
export async function read(client: Client, sessionId: string): Promise<Atom[]> {
  const { messages } = await new ThreadkeepMemoryStorage(client).listMessages({ threadId: sessionId, resourceId: "ada", perPage: false });
  return messages.flatMap(({ role, content }) => atomsOf(role, content.parts as Part[]));
}

/** Returns the atoms of a message. The results of a step come after its calls. */
function atomsOf(role: string, parts: readonly Part[]): Atom[] {
  const [atoms, results] = [[] as Atom[], [] as Atom[]];
  for (const part of parts) {
    if (part.type !== "tool-invocation") atoms.push(...results.splice(0));
    if (part.type === "text") atoms.push({ role, kind: "text", text: part["text"] as string });
    else if (part.type === "reasoning") atoms.push({ role, kind: "reasoning", text: part["reasoning"] as string });
    else if (part.type === "file") atoms.push({ role, kind: "media", mime: part["mimeType"] as string, data: (part["data"] as string).replace(/^data:.*,/, "") });
    else if (part.type === "tool-invocation") {
      const { state, toolCallId: id, toolName: name, args, result, isError = false } = part["toolInvocation"] as { state: string; toolCallId: string; toolName: string; args: unknown; result: unknown; isError?: boolean };
      atoms.push({ role, kind: "call", id, name, arguments: args });
      if (state === "result") results.push({ role: "tool", kind: "result", id, value: result, error: isError });
    }
  }
  return [...atoms, ...results];
}

import { createEvent, type Event } from "@google/adk";
import type { Client } from "@threadkeep/client";

import { ThreadkeepSessionService } from "../../src/adk.js";
import { PIXEL, type Atom } from "../atoms.js";

type Parts = NonNullable<NonNullable<Event["content"]>["parts"]>;

const of = (author: string, role: string, ...parts: Parts) => createEvent({ author, invocationId: "i1", content: { role, parts } });
const result = (id: string, name: string, response: Record<string, unknown>) => ({ functionResponse: { id, name, response } });

function conversation(): Event[] {
  return [
    of(
      "user", "user",
      { text: "Compare the weather in Lisbon and Oslo with this map." },
      { inlineData: { mimeType: "image/png", data: PIXEL } },
    ),
    of(
      "guide", "model",
      { text: "Two cities need two calls.", thought: true },
      { text: "Let me look at both." },
      { functionCall: { id: "call_lisbon", name: "weather", args: { city: "Lisbon" } } },
      { functionCall: { id: "call_oslo", name: "weather", args: { city: "Oslo" } } },
    ),
    of(
      "guide", "user",
      result("call_lisbon", "weather", { result: { celsius: 21, sky: "clear" } }),
      result("call_oslo", "weather", { error: "the station is offline" }),
    ),
    of(
      "guide", "model",
      { text: "Lisbon has 21 °C. Oslo's station is offline. Shall I book Lisbon?" },
      { functionCall: { id: "call_book", name: "book", args: { city: "Lisbon", nights: 2 } } },
    ),
    of("guide", "user", result("call_book", "book", { result: { booked: true } })),
    of("guide", "model", { text: "Booked. Enjoy Lisbon. 🌞" }),
  ];
}

export async function write(client: Client, sessionId: string): Promise<void> {
  const service = new ThreadkeepSessionService(client);
  const session = await service.createSession({ appName: client.app, userId: client.userId, sessionId });
  for (const event of conversation()) await service.appendEvent({ session, event });
}

export async function read(client: Client, sessionId: string): Promise<Atom[]> {
  const session = await new ThreadkeepSessionService(client).getSession({ appName: client.app, userId: client.userId, sessionId });
  return session!.events.flatMap(({ author, content }) => (content?.parts ?? []).map((part) => atomOf(author === "user" ? "user" : "assistant", part)));
}

function atomOf(role: string, part: Parts[number]): Atom {
  const { functionCall: call, functionResponse, inlineData, thought, text } = part;
  if (call) return { role, kind: "call", id: call.id!, name: call.name!, arguments: call.args };
  if (inlineData) return { role, kind: "media", mime: inlineData.mimeType!, data: inlineData.data! };
  if (functionResponse) return resultOf(functionResponse.id!, functionResponse.response ?? {});
  return { role, kind: thought ? "reasoning" : "text", text: text! };
}

function resultOf(id: string, response: Record<string, unknown>): Atom {
  const [only, ...others] = Object.keys(response);
  const value = only !== undefined && others.length === 0 && ["result", "output", "error"].includes(only) ? response[only] : response;
  return { role: "tool", kind: "result", id, value, error: "error" in response };
}

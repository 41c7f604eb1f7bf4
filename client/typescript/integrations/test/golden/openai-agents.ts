import type { AgentInputItem } from "@openai/agents";
import type { Client } from "@threadkeep/client";

import { ThreadkeepSession } from "../../src/openai-agents.js";
import { PIXEL, type Atom } from "../atoms.js";

type Content = { type: string; text?: string; image?: string; refusal?: string };

const said = (text: string): AgentInputItem => ({
  type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text }],
});
const call = (callId: string, name: string, args: object): AgentInputItem => ({
  type: "function_call", callId, name, status: "completed", arguments: JSON.stringify(args),
});
const result = (callId: string, name: string, output: string): AgentInputItem => ({
  type: "function_call_result", callId, name, status: "completed", output: { type: "text", text: output },
});

export async function write(client: Client, sessionId: string): Promise<void> {
  const session = new ThreadkeepSession(client, { sessionId });
  await session.addItems([
    {
      type: "message",
      role: "user",
      content: [
        { type: "input_text", text: "Compare the weather in Lisbon and Oslo with this map." },
        { type: "input_image", image: `data:image/png;base64,${PIXEL}` },
      ],
    },
    { type: "reasoning", content: [{ type: "input_text", text: "Two cities need two calls." }] },
    said("Let me look at both."),
    call("call_lisbon", "weather", { city: "Lisbon" }),
    call("call_oslo", "weather", { city: "Oslo" }),
    result("call_lisbon", "weather", JSON.stringify({ celsius: 21, sky: "clear" })),
    result("call_oslo", "weather", "the station is offline"),
    said("Lisbon has 21 °C. Oslo's station is offline. Shall I book Lisbon?"),
    call("call_book", "book", { city: "Lisbon", nights: 2 }),
  ]);
  await session.addItems([result("call_book", "book", JSON.stringify({ booked: true })), said("Booked. Enjoy Lisbon. 🌞")]);
}

export async function read(client: Client, sessionId: string): Promise<Atom[]> {
  return (await new ThreadkeepSession(client, { sessionId }).getItems()).flatMap(atomsOf);
}

function atomsOf(item: AgentInputItem): Atom[] {
  if (item.type === "reasoning") return item.content.map(({ text }): Atom => ({ role: "assistant", kind: "reasoning", text }));
  if (item.type === "function_call") {
    return [{ role: "assistant", kind: "call", id: item.callId, name: item.name, arguments: JSON.parse(item.arguments) }];
  }
  if (item.type === "function_call_result") return [{ role: "tool", kind: "result", id: item.callId, value: textOf(item.output) }];
  if (!("role" in item)) throw new Error(`${item.type} is not expected`);
  const content: Content[] = typeof item.content === "string" ? [{ type: "text", text: item.content }] : (item.content as Content[]);
  return content.map((each) => (each.image === undefined ? { role: item.role, kind: "text", text: each.text! } : mediaOf(item.role, each.image)));
}

function mediaOf(role: string, image: string): Atom {
  const [, mime = "image/png", data = image] = /^data:([^;]*);base64,(.*)$/.exec(image) ?? [];
  return { role, kind: "media", mime, data };
}

function textOf(output: unknown): unknown {
  if (typeof output === "string") return output;
  const all = (Array.isArray(output) ? output : [output]) as Content[];
  return all.map(({ text }) => text).join("");
}

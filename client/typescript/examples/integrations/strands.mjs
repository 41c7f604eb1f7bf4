// A Strands agent that is restored from a snapshot, and its memory. A script is the model, so no key is needed. It needs Node 22, as
// Strands does. THREADKEEP_ADDRESS specifies the server.

import { Agent, MemoryManager, Model, SessionManager, tool } from "@strands-agents/sdk";
import { connect } from "@threadkeep/client";
import { ThreadkeepMemoryStore, ThreadkeepStorage } from "@threadkeep/client/strands";
import { z } from "zod";

const client = connect({ app: `travel-${Date.now()}`, userId: "alice" });
const storage = new ThreadkeepStorage(client);

/** A model that says one part of a script per call. */
class Scripted extends Model {
  constructor(script) {
    super();
    this.script = script;
  }
  updateConfig() {}
  getConfig() {
    return {};
  }
  async *stream() {
    const said = this.script.shift();
    const called = typeof said !== "string";
    yield { type: "modelMessageStartEvent", role: "assistant" };
    yield { type: "modelContentBlockStartEvent", ...(called && { start: { type: "toolUseStart", name: said.name, toolUseId: "call_1" } }) };
    yield { type: "modelContentBlockDeltaEvent", delta: called ? { type: "toolUseInputDelta", input: JSON.stringify(said.input) } : { type: "textDelta", text: said } };
    yield { type: "modelContentBlockStopEvent" };
    yield { type: "modelMessageStopEvent", stopReason: called ? "toolUse" : "endTurn" };
  }
}

const weather = tool({
  name: "weather",
  description: "Returns the weather in a city.",
  inputSchema: z.object({ city: z.string() }),
  callback: ({ city }) => `21 degrees in ${city}`,
});
const guide = (...script) =>
  new Agent({ id: "guide", model: new Scripted(script), tools: [weather], printer: false, sessionManager: new SessionManager({ sessionId: "trip", storage }) });

const first = guide({ name: "weather", input: { city: "Lisbon" } }, "It is warm in Lisbon: 21 degrees.");
console.log(`${await first.invoke("How is the weather in Lisbon?")}`);

const second = guide("Yes, take a hat.");
console.log(`${await second.invoke("Do I need a hat?")}`);
console.log(`the restored agent has ${second.messages.length} messages`);
for (const key of await storage.list("")) console.log(key);

const memory = new MemoryManager({ stores: [new ThreadkeepMemoryStore(client)] });
await memory.add("Alice likes hats.");
for (const entry of await memory.search("hats")) console.log(`remembered: ${entry.content}`);
client.close();

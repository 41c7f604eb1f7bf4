// Two runs of an agent of @openai/agents in one session, and the conversation as every other client reads it. A script is the model,
// so no key is needed. THREADKEEP_ADDRESS specifies the server.

import { Agent, Runner, tool } from "@openai/agents";
import { assistantMessage, functionCall, ScriptedModel } from "@openai/agents-core/testing";
import { connect } from "@threadkeep/client";
import { ThreadkeepSession } from "@threadkeep/client/openai-agents";
import { z } from "zod";

const client = connect({ app: "travel", userId: "alice" });
const session = new ThreadkeepSession(client, { sessionId: `trip-${Date.now()}`, author: "guide" });

const weather = tool({
  name: "weather",
  description: "Returns the weather in a city.",
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => `21 degrees in ${city}`,
});
const model = new ScriptedModel([
  [functionCall("weather", { city: "Lisbon" }, { callId: "call_1" })],
  [assistantMessage("It is warm in Lisbon: 21 degrees.")],
  [assistantMessage("Yes, take a hat.")],
]);
const guide = new Agent({ name: "guide", instructions: "You help travelers.", model, tools: [weather] });
const runner = new Runner({ tracingDisabled: true });

for (const question of ["How is the weather in Lisbon?", "Do I need a hat?"]) {
  const { finalOutput } = await runner.run(guide, question, { session });
  console.log(`${question} ${finalOutput}`);
}
console.log(`the last run sent ${model.lastCall?.request.input.length} items to the model`);

for await (const event of client.session(await session.getSessionId()).events()) {
  const kinds = event.message?.parts.map(({ content }) => content.case).join(", ");
  console.log(`${event.seq} ${event.author || "-"}: ${kinds}`);
}
client.close();

// Two runs of an agent of @google/adk in one session, its state, and the conversation as every other client reads it. A script is the
// model, so no key is needed. THREADKEEP_ADDRESS specifies the server.

import { BaseLlm, FunctionTool, LlmAgent, Runner } from "@google/adk";
import { connect } from "@threadkeep/client";
import { ThreadkeepMemoryService, ThreadkeepSessionService } from "@threadkeep/client/adk";

class ScriptedModel extends BaseLlm {
  constructor() {
    super({ model: "scripted" });
  }

  async *generateContentAsync({ contents }) {
    const parts = contents.at(-1).parts;
    const result = parts.find(({ functionResponse }) => functionResponse)?.functionResponse.response.result;
    if (result) yield { content: { role: "model", parts: [{ text: `It is warm: ${result}.` }] } };
    else if (parts.some(({ text }) => text?.includes("hat"))) yield { content: { role: "model", parts: [{ text: "Yes, take a hat." }] } };
    else yield { content: { role: "model", parts: [{ functionCall: { id: "call_1", name: "weather", args: {} } }] } };
  }
}

const weather = new FunctionTool({
  name: "weather",
  description: "Returns the weather in Lisbon.",
  execute: async (_, context) => {
    context.state.set("city", "Lisbon");
    return "21 degrees";
  },
});

const client = connect();
const key = { appName: "travel", userId: `alice-${Date.now()}`, sessionId: "trip" };
const sessionService = new ThreadkeepSessionService(client);
const memoryService = new ThreadkeepMemoryService(client);
const agent = new LlmAgent({ name: "guide", model: new ScriptedModel(), tools: [weather] });
const runner = new Runner({ appName: key.appName, agent, sessionService, memoryService });

await sessionService.createSession({ ...key, state: { "user:seat": "window" } });
for (const text of ["How is the weather in Lisbon?", "Do I need a hat?"]) {
  const newMessage = { role: "user", parts: [{ text }] };
  for await (const event of runner.runAsync({ userId: key.userId, sessionId: key.sessionId, newMessage })) {
    const answer = event.content?.parts?.[0]?.text;
    if (answer) console.log(`${text} ${answer}`);
  }
}

const session = await sessionService.getSession(key);
console.log(`state: ${JSON.stringify({ ...session.state })}`);
await memoryService.addSessionToMemory(session);
const { memories } = await memoryService.searchMemory({ appName: key.appName, userId: key.userId, query: "hat" });
console.log(`remembered: ${memories.map(({ content }) => content.parts[0].text).sort().join(" ")}`);

for await (const event of client.session({ app: key.appName, userId: key.userId, sessionId: key.sessionId }).events()) {
  console.log(`${event.seq} ${event.author}: ${event.message?.parts.map(({ content }) => content.case).join(", ")}`);
}
client.close();

// Two runs of a Mastra agent in one thread, and the conversation as every other client reads it. A script is the model, so no key is
// needed; Mastra's MockMemory stands for the Memory of @mastra/memory. It needs Node 22, as Mastra does. THREADKEEP_ADDRESS
// specifies the server.

import { Agent } from "@mastra/core/agent";
import { MockMemory } from "@mastra/core/memory";
import { MastraLanguageModelV2Mock, simulateReadableStream } from "@mastra/core/test-utils/llm-mock";
import { createTool } from "@mastra/core/tools";
import { connect } from "@threadkeep/client";
import { ThreadkeepStore } from "@threadkeep/client/mastra";
import { z } from "zod";

const client = connect({ app: `travel-${Date.now()}`, userId: "mastra" });
const store = new ThreadkeepStore(client);

const finish = (finishReason) => ({ type: "finish", finishReason, usage: { inputTokens: 9, outputTokens: 9, totalTokens: 18 } });
const text = (delta) => [{ type: "text-start", id: "t" }, { type: "text-delta", id: "t", delta }, { type: "text-end", id: "t" }, finish("stop")];
const script = [
  [{ type: "tool-call", toolCallId: "call_1", toolName: "weather", input: '{"city":"Lisbon"}' }, finish("tool-calls")],
  text("It is warm in Lisbon: 21 degrees."),
  text("Yes, take a hat."),
];
const model = new MastraLanguageModelV2Mock({ doStream: async () => ({ stream: simulateReadableStream({ chunks: script.shift() }) }) });
const weather = createTool({
  id: "weather",
  description: "Returns the weather in a city.",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `21 degrees in ${city}`,
});
const guide = new Agent({ id: "guide", name: "guide", instructions: "You help travelers.", model, tools: { weather }, memory: new MockMemory({ storage: store }) });

for (const question of ["How is the weather in Lisbon?", "Do I need a hat?"]) {
  const output = await guide.stream(question, { memory: { thread: "trip", resource: "alice" } });
  await output.consumeStream();
  console.log(`${question} ${await output.text}`);
}

const memory = await store.getStore("memory");
await memory.updateResource({ resourceId: "alice", workingMemory: "Likes hats." });
const { thread } = await memory.copyThread({ sourceThreadId: "trip", newThreadId: "trip-again", options: { messageLimit: 2 } });
const { total } = await memory.listMessages({ threadId: thread.id });
console.log(`a copy of the thread has ${total} messages; ${(await memory.getResourceById({ resourceId: "alice" })).workingMemory}`);

for await (const event of client.session({ app: client.app, userId: "alice", sessionId: "trip" }).events()) {
  console.log(`${event.seq}: ${event.message?.parts.map(({ content }) => content.case).join(", ")}`);
}
client.close();

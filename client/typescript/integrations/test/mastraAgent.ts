// A Mastra agent with a scripted model, over the memory class that Mastra ships for tests. As a worker, it runs until it is terminated
// in its second step: an application that dies.

import { isMainThread, workerData } from "node:worker_threads";

import { Agent } from "@mastra/core/agent";
import { MockMemory } from "@mastra/core/memory";
import { MastraLanguageModelV2Mock } from "@mastra/core/test-utils/llm-mock";
import { createTool } from "@mastra/core/tools";
import type { InMemoryStore } from "@mastra/core/storage";
import { z } from "zod";
import { connect, type Client } from "@threadkeep/client";

import { ThreadkeepStore } from "../src/mastra.js";

type Chunk = Record<string, unknown> & { type: string };

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
export const CALL: Chunk[] = [
  { type: "tool-call", toolCallId: "c1", toolName: "weather", input: '{"city":"Lisbon"}' },
  { type: "finish", finishReason: "tool-calls", usage },
];
export const words = (delta: string): Chunk[] => [
  { type: "text-start", id: "t" },
  { type: "text-delta", id: "t", delta },
  { type: "text-end", id: "t" },
  { type: "finish", finishReason: "stop", usage },
];

/** An agent with a tool that counts its runs. A function in a script is awaited in place. */
export function guide(client: Client, ...scripts: (Chunk | (() => Promise<unknown>))[][]) {
  const ran = { tools: 0, prompts: [] as string[][] };
  let call = 0;
  const doStream = async ({ prompt }: { prompt: { role: string }[] }) => {
    ran.prompts.push(prompt.map(({ role }) => role));
    const script = scripts[call++]!;
    const stream = new ReadableStream<Chunk>({
      async start(controller) {
        controller.enqueue({ type: "stream-start", warnings: [] });
        for (const each of script) {
          if (typeof each === "function") await each();
          else controller.enqueue(each);
        }
        controller.close();
      },
    });
    return { stream };
  };
  const model = new MastraLanguageModelV2Mock({ doStream } as unknown as ConstructorParameters<typeof MastraLanguageModelV2Mock>[0]);
  const execute = async () => {
    ran.tools += 1;
    return { celsius: 21 };
  };
  const weather = createTool({ id: "weather", description: "the weather", inputSchema: z.object({ city: z.string() }), execute });
  const memory = new MockMemory({ storage: new ThreadkeepStore(client) as unknown as InMemoryStore });
  const agent = new Agent({ id: "guide", name: "guide", instructions: "You help travelers.", model, tools: { weather }, memory });
  const run = async (question: string) => {
    const output = await agent.stream(question, { memory: { thread: "trip", resource: "alice" }, savePerStep: true });
    await output.consumeStream();
    return output.text;
  };
  return { ran, run };
}

if (!isMainThread) {
  const forever = new Promise<void>(() => void setInterval(() => {}, 60_000));
  await guide(connect(workerData as { address: string; app: string }), CALL, [() => forever]).run("How is the weather in Lisbon?");
}

// The AI SDK's agent of the fleet: examples/fleet at the root of the repository, ADDRESS SESSION QUESTION ANSWER. It prints the
// session as the UI messages that it reads, calls a tool, and answers; a script replaces the model.

import { connect } from "@threadkeep/client";
import { convertToModelMessages, generateId, isStepCount, streamText, tool, toUIMessageStream, type UIMessage } from "ai";
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";
import { z } from "zod";

import { ThreadkeepChats } from "../src/ai-sdk.js";

const [address = "", chatId = "", question = "", answer = ""] = process.argv.slice(2);
type Step = Awaited<ReturnType<MockLanguageModelV4["doStream"]>>;
type Chunk = Step["stream"] extends ReadableStream<infer C> ? C : never;

const USAGE = { inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined }, outputTokens: { total: 1, text: 1, reasoning: undefined } };

/** Calls the tool, then gives its answer and the number of answers that it read. */
const model = new MockLanguageModelV4({
  doStream: async ({ prompt }): Promise<Step> => {
    const read = new Set([...JSON.stringify(prompt).matchAll(/«(.+?)»/g)].map(([, text]) => text));
    const delta = `«${answer}» Answers read: ${read.size}.`;
    const answered = prompt.at(-1)?.role === "tool";
    const said: Chunk[] = answered
      ? [{ type: "text-start", id: "t" }, { type: "text-delta", id: "t", delta }, { type: "text-end", id: "t" }]
      : [{ type: "tool-call", toolCallId: `call_${generateId()}`, toolName: "address", input: '{"name":"Grace"}' }];
    const end: Chunk = { type: "finish", finishReason: { unified: answered ? "stop" : "tool-calls", raw: undefined }, usage: USAGE };
    return { stream: convertArrayToReadableStream<Chunk>([{ type: "stream-start", warnings: [] }, ...said, end]) };
  },
});

const tools = {
  address: tool({
    description: "The address of a friend.",
    inputSchema: z.object({ name: z.string() }),
    execute: async ({ name }) => `${name.toLowerCase()}@example.com`,
  }),
};

/** Prints a message: its texts, and its tool calls with their results. */
function show({ role, parts }: UIMessage): void {
  const own = `UIMessage(${role})`;
  for (const part of parts) {
    if (part.type === "text") console.log(`${own}: ${part.text}`);
    if (!("toolCallId" in part)) continue;
    const name = "toolName" in part ? part.toolName : part.type.slice("tool-".length);
    console.log(`${own} calls ${name} ${JSON.stringify(part.input)} [${part.toolCallId}]`);
    if (part.state === "output-available") console.log(`${own} returns ${JSON.stringify(part.output)} [${part.toolCallId}]`);
  }
}

// A call waits for a server that is started again.
const client = connect({ address, app: "fleet", userId: "ada", timeoutMs: 120_000, retry: { maxAttempts: 1_000, longestPauseMs: 500 } });
try {
  const chats = new ThreadkeepChats(client, { author: "writer" });
  (await chats.loadChat(chatId)).forEach(show);
  const asked: UIMessage = { id: generateId(), role: "user", parts: [{ type: "text", text: question }] };
  await chats.saveChat({ chatId, messages: [asked] });
  const messages = await chats.loadChat(chatId);
  const { stream } = streamText({ model, tools, messages: await convertToModelMessages(messages, { tools }), stopWhen: isStepCount(2) });
  const shown = toUIMessageStream({
    stream,
    originalMessages: messages,
    generateMessageId: generateId,
    onEnd: ({ responseMessage }) => chats.saveChat({ chatId, messages: [responseMessage] }),
  });
  for await (const _ of shown);
} finally {
  await client.close();
}

// The AI SDK's agent of the fleet: examples/fleet at the root of the repository. It reads the whole session, and answers; a
// script replaces the model.

import { connect } from "@threadkeep/client";
import { convertToModelMessages, generateId, generateText, type UIMessage } from "ai";
import { MockLanguageModelV4 } from "ai/test";

import { ThreadkeepChats } from "../src/ai-sdk.js";

const [question = "", answer = ""] = process.argv.slice(2);
const CHAT = "trip";
const USAGE = { inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined }, outputTokens: { total: 1, text: 1, reasoning: undefined } };

const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const read = new Set([...JSON.stringify(prompt).matchAll(/«(.+?)»/g)].map(([, text]) => text));
    return {
      content: [{ type: "text", text: `«${answer}» Answers read: ${read.size}.` }],
      finishReason: { unified: "stop", raw: undefined },
      usage: USAGE,
      warnings: [],
    };
  },
});

const client = connect({ app: "fleet", userId: "ada" });
try {
  const chats = new ThreadkeepChats(client, { author: "writer" });
  const asked: UIMessage = { id: generateId(), role: "user", parts: [{ type: "text", text: question }] };
  await chats.saveChat({ chatId: CHAT, messages: [asked] });
  const messages = await chats.loadChat(CHAT);
  const { text } = await generateText({ model, messages: await convertToModelMessages(messages) });
  await chats.saveChat({ chatId: CHAT, messages: [{ id: generateId(), role: "assistant", parts: [{ type: "text", text }] }] });
} finally {
  await client.close();
}

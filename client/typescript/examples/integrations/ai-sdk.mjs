// A chat of the AI SDK: a route as an application writes it, a client that reconnects, and an answer that is made again. A script is
// the model, so no key is needed. It needs Node 22, as the AI SDK does. THREADKEEP_ADDRESS specifies the server.

import {
  convertToModelMessages, createUIMessageStreamResponse, DefaultChatTransport, generateId, isStepCount, readUIMessageStream, simulateReadableStream,
  streamText, tool, toUIMessageStream,
} from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { connect } from "@threadkeep/client";
import { ThreadkeepChats, ThreadkeepStreams } from "@threadkeep/client/ai-sdk";
import { z } from "zod";

const client = connect({ app: "travel", userId: "alice" });
const chats = new ThreadkeepChats(client, { author: "guide" });
const streams = new ThreadkeepStreams(client);

const usage = { inputTokens: { total: 9, noCache: 9 }, outputTokens: { total: 9, text: 9 } };
const finish = (unified) => ({ type: "finish", finishReason: { unified }, usage });
const text = (...deltas) => [
  { type: "text-start", id: "t" },
  ...deltas.map((delta) => ({ type: "text-delta", id: "t", delta })),
  { type: "text-end", id: "t" },
  finish("stop"),
];
const script = [
  [{ type: "tool-call", toolCallId: "call_1", toolName: "weather", input: '{"city":"Lisbon"}' }, finish("tool-calls")],
  text("It is warm in Lisbon: ", "21 degrees."),
  text("21 degrees: ", "take a hat."),
];
const model = new MockLanguageModelV4({
  doStream: async () => ({ stream: simulateReadableStream({ chunks: script.shift(), chunkDelayInMs: 50 }) }),
});
const tools = {
  weather: tool({ inputSchema: z.object({ city: z.string() }), execute: async ({ city }) => `21 degrees in ${city}` }),
};

/** POST /api/chat */
async function post(body) {
  const messages = await chats.receive(body);
  const result = streamText({ model, tools, messages: await convertToModelMessages(messages, { tools }), stopWhen: isStepCount(5) });
  const save = ({ responseMessage }) => chats.saveChat({ chatId: body.id, messages: [responseMessage] });
  return createUIMessageStreamResponse({
    stream: toUIMessageStream({ stream: result.stream, originalMessages: messages, generateMessageId: generateId, onStepEnd: save, onEnd: save }),
    consumeSseStream: ({ stream }) => streams.record({ chatId: body.id, stream }),
  });
}

const textOf = (message) => message.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");

const id = await chats.createChat();
const question = { id: generateId(), role: "user", parts: [{ type: "text", text: "How is the weather in Lisbon?" }] };
const response = await post({ id, message: question, trigger: "submit-message" });

// The page is reloaded: GET /api/chat/[id]/stream replays what it has missed.
while ((await streams.activeStreamId(id)) === null) await new Promise((resolve) => setTimeout(resolve, 10));
const transport = new DefaultChatTransport({ api: "http://localhost/api/chat", fetch: () => streams.response(id) });
let shown;
for await (const message of readUIMessageStream({ stream: await transport.reconnectToStream({ chatId: id }) })) shown = message;
console.log(`replayed: ${textOf(shown)}`);
await response.text();

await (await post({ id, trigger: "regenerate-message", messageId: shown.id })).text();
for (const message of await chats.loadChat(id, { validate: { tools } })) console.log(`${message.role}: ${textOf(message)}`);

for await (const event of client.session(id).events()) {
  const kinds = event.message?.parts.map(({ content }) => content.case).join(", ");
  console.log(`${event.seq} ${event.author || "-"}${event.archived ? " (archived)" : ""}: ${kinds}`);
}
client.close();

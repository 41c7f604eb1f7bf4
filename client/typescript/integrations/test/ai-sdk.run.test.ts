// Runs of the AI SDK with a scripted model: a route as an application writes it, streams that are resumed, servers that are killed.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import {
  convertToModelMessages, createUIMessageStreamResponse, DefaultChatTransport, generateId, isStepCount, readUIMessageStream, streamText, tool,
  toUIMessageStream, type UIMessage,
} from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { z } from "zod";
import { newEventId, type Client } from "@threadkeep/client";

import { ThreadkeepChats, ThreadkeepStreams, type ChatRequest } from "../src/ai-sdk.js";
import { freshClient, KillableServer } from "./support.js";

type Step = Awaited<ReturnType<MockLanguageModelV4["doStream"]>>;
type Chunk = Step["stream"] extends ReadableStream<infer C> ? C : never;

const USAGE = { inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined }, outputTokens: { total: 1, text: 1, reasoning: undefined } };
const finish = (unified: "stop" | "tool-calls"): Chunk => ({ type: "finish", finishReason: { unified, raw: undefined }, usage: USAGE });
const words = (...deltas: string[]): Chunk[] => [
  { type: "text-start", id: "t" },
  ...deltas.map((delta): Chunk => ({ type: "text-delta", id: "t", delta })),
  { type: "text-end", id: "t" },
  finish("stop"),
];
const CALL: Chunk[] = [{ type: "tool-call", toolCallId: "c1", toolName: "weather", input: '{"city":"Lisbon"}' }, finish("tool-calls")];

/** A model that streams one script per call; a function in a script is awaited in place. */
function scripted(...scripts: (Chunk | (() => Promise<unknown>))[][]): MockLanguageModelV4 {
  let call = 0;
  return new MockLanguageModelV4({
    doStream: async (): Promise<Step> => {
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
    },
  });
}

const asked = (text: string, id = generateId()): UIMessage => ({ id, role: "user", parts: [{ type: "text", text }] });
const textOf = (message: UIMessage | undefined) => message?.parts.map((part) => (part.type === "text" ? part.text : "")).join("");

/** An application: its route, with a tool that counts its runs. */
function application(client: Client, model: MockLanguageModelV4) {
  const [chats, streams] = [new ThreadkeepChats(client), new ThreadkeepStreams(client, { heartbeatMs: 100 })];
  const ran = { tools: 0 };
  const tools = {
    weather: tool({
      description: "the weather",
      inputSchema: z.object({ city: z.string() }),
      execute: async () => {
        ran.tools += 1;
        return { celsius: 21 };
      },
    }),
  };
  const abort = new AbortController();
  const answer = async (chatId: string, messages: UIMessage[]): Promise<Response> => {
    const result = streamText({ model, tools, messages: await convertToModelMessages(messages, { tools }), stopWhen: isStepCount(5), abortSignal: abort.signal });
    const stream = toUIMessageStream({
      stream: result.stream,
      originalMessages: messages,
      generateMessageId: generateId,
      onStepEnd: ({ responseMessage }) => chats.saveChat({ chatId, messages: [responseMessage] }),
      onEnd: ({ responseMessage }) => chats.saveChat({ chatId, messages: [responseMessage] }),
    });
    return createUIMessageStreamResponse({
      stream,
      consumeSseStream: ({ stream }) => streams.record({ chatId, stream, onStopped: () => abort.abort() }),
    });
  };
  const post = async (body: ChatRequest<UIMessage>) => answer(body.id, await chats.receive(body));
  return { chats, streams, ran, post, answer };
}

/** Returns the message that the AI SDK's own client builds of the stream it reconnects to; undefined without an active one. */
async function reconnected(streams: ThreadkeepStreams, chatId: string): Promise<UIMessage | undefined> {
  const transport = new DefaultChatTransport({ api: "http://test/api/chat", fetch: () => streams.response(chatId) });
  const stream = await transport.reconnectToStream({ chatId });
  let message: UIMessage | undefined;
  if (stream !== null) for await (const each of readUIMessageStream({ stream })) message = each;
  return message;
}

test("a run of two steps is stored as the client shows it", async () => {
  const client = freshClient();
  const { chats, post, ran } = application(client, scripted(CALL, words("Lisbon has ", "21 °C.")));
  const chatId = await chats.createChat();
  await (await post({ id: chatId, message: asked("What is the weather in Lisbon?", "u1"), trigger: "submit-message" })).text();
  const [question, reply] = await chats.loadChat(chatId);
  assert.equal(question?.id, "u1");
  assert.equal(textOf(reply), "Lisbon has 21 °C.");
  assert.deepEqual(reply?.parts.map(({ type }) => type), ["step-start", "tool-weather", "step-start", "text"]);
  assert.equal(ran.tools, 1);
});

test("a regenerated answer takes the place of the first one", async () => {
  const { chats, post } = application(freshClient(), scripted(words("No."), words("Yes.")));
  const chatId = await chats.createChat();
  await (await post({ id: chatId, message: asked("Is it?", "u1"), trigger: "submit-message" })).text();
  const [, first] = await chats.loadChat(chatId);
  await (await post({ id: chatId, trigger: "regenerate-message", messageId: first!.id })).text();
  const messages = await chats.loadChat(chatId);
  assert.deepEqual(messages.map(textOf), ["Is it?", "Yes."]);
});

test("a stream is replayed from its beginning while it is active, and followed to its end", async () => {
  let go = () => {};
  const held = new Promise<void>((resolve) => (go = resolve));
  const client = freshClient();
  const { chats, streams, post } = application(client, scripted([...words("Hel").slice(0, 2), () => held, ...words("lo.").slice(1)]));
  const chatId = await chats.createChat();
  const response = await post({ id: chatId, message: asked("Hi"), trigger: "submit-message" });
  const shown = response.text();
  while ((await streams.activeStreamId(chatId)) === null) await pause(20);
  assert.equal((await chats.readChat(chatId)).activeStreamId, await streams.activeStreamId(chatId));
  const elsewhere = new ThreadkeepStreams(client);
  const replays = [reconnected(elsewhere, chatId), reconnected(streams, chatId), streams.response(chatId).then((each) => each.text())];
  await pause(50);
  go();
  const [left, right, bytes] = await Promise.all(replays);
  assert.equal(textOf(left as UIMessage), "Hello.");
  assert.deepEqual(left, right);
  const events = (sent: string) => sent.split("\n\n").filter((each) => each && !each.startsWith(":"));
  assert.deepEqual(events(bytes as string), events(await shown));
  assert.equal((await chats.loadChat(chatId)).at(-1)?.id, (left as UIMessage).id);
});

test("after its end a chat has no active stream, and a client that reconnects gets 204", async () => {
  const { chats, streams, post } = application(freshClient(), scripted(words("Hello.")));
  const chatId = await chats.createChat();
  assert.equal((await streams.response(chatId)).status, 204);
  assert.equal((await streams.response(newEventId())).status, 204);
  await (await post({ id: chatId, message: asked("Hi"), trigger: "submit-message" })).text();
  while ((await streams.activeStreamId(chatId)) !== null) await pause(20);
  assert.equal((await streams.response(chatId)).status, 204);
  assert.equal(await reconnected(streams, chatId), undefined);
});

test("a stream that ends later does not clear the id of a newer one", async () => {
  const client = freshClient();
  const streams = new ThreadkeepStreams(client);
  const [chatId, controllers] = [newEventId(), [] as ReadableStreamDefaultController<string>[]];
  const held = () => new ReadableStream<string>({ start: (controller) => void controllers.push(controller) });
  const older = streams.record({ chatId, streamId: "older", stream: held() });
  while ((await streams.activeStreamId(chatId)) !== "older") await pause(20);
  const newer = streams.record({ chatId, streamId: "newer", stream: held() });
  while ((await streams.activeStreamId(chatId)) !== "newer") await pause(20);
  controllers[0]!.close();
  await older;
  assert.equal(await streams.activeStreamId(chatId), "newer");
  assert.equal(await streams.stop({ chatId, streamId: "older" }), false);
  await client.session(chatId).state().patch({ another: "key" });
  controllers[1]!.close();
  await newer;
  assert.equal(await streams.activeStreamId(chatId), null);
});

test("stop ends the recording, its replays and the model's call", async () => {
  const client = freshClient();
  const forever = new Promise<void>(() => {});
  const { chats, streams, post } = application(client, scripted([...words("Once upon a time").slice(0, 2), () => forever]));
  const chatId = await chats.createChat();
  const response = await post({ id: chatId, message: asked("Write a story"), trigger: "submit-message" });
  const shown = response.text();
  while ((await streams.activeStreamId(chatId)) === null) await pause(20);
  const replay = (await streams.response(chatId)).text();
  assert.equal(await streams.stop({ chatId }), true);
  assert.equal(await streams.stop({ chatId }), false);
  assert.match(await replay, /Once upon a time/);
  assert.match(await shown, /abort/);
  assert.equal(await streams.activeStreamId(chatId), null);
});

test("the replay of a stream whose recorder died ends after a silence, and the stream is not active any more", async () => {
  const client = freshClient();
  const [chatId, dead] = [newEventId(), new ThreadkeepStreams(client, { heartbeatMs: 3_600_000 })];
  let end = () => {};
  const begin = (controller: ReadableStreamDefaultController<string>) => {
    controller.enqueue("data: {}\n\n");
    end = () => controller.close();
  };
  const recorded = dead.record({ chatId, stream: new ReadableStream({ start: begin }) });
  while ((await dead.activeStreamId(chatId)) === null) await pause(20);
  const streams = new ThreadkeepStreams(client, { silenceMs: 300 });
  assert.match(await (await streams.response(chatId)).text(), /^(: \n\n)?data: \{\}\n\n$/);
  assert.equal(await streams.activeStreamId(chatId), null);
  end();
  await recorded;
});

test("a recording that fails is reported, and does not end the response", async () => {
  const client = freshClient();
  const errors: unknown[] = [];
  const streams = new ThreadkeepStreams(client);
  await streams.record({ chatId: "x".repeat(300), stream: new ReadableStream(), onError: (error) => errors.push(error) });
  assert.ok(errors.length > 0);
});

test("a run continues when the server is killed in the middle and started again; nothing is lost or stored twice", async (context) => {
  const server = await KillableServer.start(context);
  const client = freshClient(server.address);
  const restart = async () => {
    while ((await streams.activeStreamId(chatId)) === null) await pause(20);
    replay = reconnected(streams, chatId);
    await pause(100);
    await server.kill();
    void pause(300).then(() => server.start());
  };
  let replay: Promise<UIMessage | undefined> | undefined;
  const chatId = newEventId();
  const { chats, streams, post, ran } = application(client, scripted(CALL, [...words("Lisbon ").slice(0, 2), restart, ...words("has 21 °C.").slice(1)]));
  const response = await post({ id: chatId, message: asked("What is the weather in Lisbon?", "u1"), trigger: "submit-message" });
  await response.text();
  assert.equal(textOf(await replay), "Lisbon has 21 °C.");
  const messages = await chats.loadChat(chatId);
  assert.deepEqual(messages.map(({ role }) => role), ["user", "assistant"]);
  assert.deepEqual(messages[1]?.parts.map(({ type }) => type), ["step-start", "tool-weather", "step-start", "text"]);
  assert.equal(textOf(messages[1]), "Lisbon has 21 °C.");
  assert.equal(ran.tools, 1);
  const events = [];
  for await (const event of client.session(chatId).events({ filter: { view: "active" } })) events.push(event.message?.role);
  assert.deepEqual(events, [1, 2, 4, 2]);
});

test("a run whose application dies with the server resumes after the last saved step, without running its tool again", async (context) => {
  const server = await KillableServer.start(context);
  const client = freshClient(server.address);
  let die = () => {};
  const died = new Promise<void>((resolve) => (die = resolve));
  context.after(() => die());
  const first = application(client, scripted(CALL, [() => died, ...words("It is too late.")]));
  const chatId = await first.chats.createChat();
  void first.post({ id: chatId, message: asked("What is the weather in Lisbon?", "u1"), trigger: "submit-message" });
  while ((await first.chats.loadChat(chatId)).at(-1)?.parts.at(-1)?.type !== "tool-weather") await pause(20);
  await server.kill();
  await server.start();
  const model = scripted(words("Lisbon has 21 °C."));
  const second = application(client, model);
  const messages = await second.chats.loadChat(chatId);
  await (await second.answer(chatId, messages)).text();
  const [question, reply, ...more] = await second.chats.loadChat(chatId);
  assert.deepEqual([question?.id, more.length, second.ran.tools], ["u1", 0, 0]);
  assert.deepEqual(reply?.parts.map(({ type }) => type), ["step-start", "tool-weather", "step-start", "text"]);
  assert.equal(reply?.id, messages.at(-1)?.id);
  assert.deepEqual(model.doStreamCalls[0]?.prompt.map(({ role }) => role), ["user", "assistant", "tool"]);
});

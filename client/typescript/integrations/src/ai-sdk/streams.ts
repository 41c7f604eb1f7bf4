// Resumable streams of the AI SDK: what a response sent is kept in a session of its own, from which it is replayed.

import { generateId, UI_MESSAGE_STREAM_HEADERS } from "ai";

import { isReason, Role, type Client, type EventInit, type SessionHandle } from "@threadkeep/client";

import { activate, activeStream, deactivate } from "./activeStream.js";
import { gathered } from "./gathered.js";

const TEXT = "ai-sdk.sse/1";
const END = "ai-sdk.sse.end/1";
/** A comment of server-sent events, which clients ignore. */
const HEARTBEAT = ": \n\n";
const ENCODER = new TextEncoder();

/** Options of `ThreadkeepStreams`. */
export interface StreamOptions {
  /** Milliseconds that a stream is kept. Default: 86,400,000, a day. */
  ttlMs?: number | undefined;
  /** Milliseconds without output after which the recorder writes a comment that shows that it lives. Default: 10,000. */
  heartbeatMs?: number | undefined;
  /** Milliseconds without anything after which a replay takes the recorder for dead and ends. Default: 60,000. */
  silenceMs?: number | undefined;
}

/** What `record` records. */
export interface RecordOptions {
  chatId: string;
  /** The stream of `consumeSseStream`. */
  stream: ReadableStream<string>;
  /** Id of the stream. Default: a new one. */
  streamId?: string | undefined;
  /** Called if the stream is stopped: the place to abort the model's call. */
  onStopped?: (() => void) | undefined;
  /** Called with an error that ends the recording, and not the response. Default: `console.error`. */
  onError?: ((error: unknown) => void) | undefined;
}

/**
 * The resumable streams of an application's chats.
 *
 * @example
 * const streams = new ThreadkeepStreams(client);
 * createUIMessageStreamResponse({ stream, consumeSseStream: ({ stream }) => streams.record({ chatId, stream }) });
 * export const GET = async (_: Request, { params }) => streams.response((await params).id);
 */
export class ThreadkeepStreams {
  readonly #options: Required<{ [Name in keyof StreamOptions]: number }>;

  constructor(
    private readonly client: Client,
    { ttlMs = 86_400_000, heartbeatMs = 10_000, silenceMs = 60_000 }: StreamOptions = {},
  ) {
    this.#options = { ttlMs, heartbeatMs, silenceMs };
  }

  /**
   * Records a stream to its end and makes it the active one of its chat meanwhile. The chat need not exist. Output that arrives
   * while an append is under way is stored by the next one. Never rejects: `createUIMessageStreamResponse` does not wait for it.
   */
  async record({ chatId, stream, streamId = generateId(), onStopped, onError = console.error }: RecordOptions): Promise<void> {
    const chat = this.client.session(chatId);
    try {
      await activate(chat, streamId);
      await this.#write(chatId, this.#log(streamId), stream);
    } catch (error) {
      if (isReason(error, "VERSION_MISMATCH")) onStopped?.(); // The end that `stop` appended came first.
      else onError(error);
      if (!stream.locked) void stream.cancel().catch(() => {}); // It would be kept in memory, for a reader that does not come.
    }
    await deactivate(chat, streamId).catch(onError);
  }

  async #write(chatId: string, log: SessionHandle, stream: ReadableStream<string>): Promise<void> {
    let last = 0;
    const createIfMissing = { ttlMs: this.#options.ttlMs, labels: LABELS, metadata: { chatId } };
    const append = async (format: string, text: string) => {
      const expect = { lastEventId: last === 0 ? "" : `${last}` };
      await log.append(eventOf(`${last + 1}`, format, text), { expect, createIfMissing });
      last += 1;
    };
    await append(TEXT, HEARTBEAT); // The session exists for those who follow it.
    for await (const text of gathered(stream, this.#options.heartbeatMs)) await append(TEXT, text ?? HEARTBEAT);
    await append(END, "done");
  }

  /** Returns the id of the stream that is answering in a chat; null if there is none. */
  activeStreamId(chatId: string): Promise<string | null> {
    return activeStream(this.client.session(chatId));
  }

  /** Returns the response to a client that reconnects: the active stream from its beginning, or 204 if there is none. */
  async response(chatId: string): Promise<Response> {
    const streamId = await this.activeStreamId(chatId);
    if (streamId === null) return new Response(null, { status: 204 });
    return new Response(this.replay(chatId, streamId), { headers: UI_MESSAGE_STREAM_HEADERS });
  }

  /**
   * Returns the bytes of a stream from its beginning, as they were sent, and follows it to its end. It also ends, and the stream
   * is not active any more, if the recorder is silent for too long.
   */
  replay(chatId: string, streamId: string): ReadableStream<Uint8Array> {
    const left = new AbortController();
    const bytes = this.#follow(chatId, streamId, left);
    return new ReadableStream({
      async pull(controller) {
        const { done, value } = await bytes.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: () => left.abort(),
    });
  }

  /**
   * Stops a stream: its replays end, its recorder stops and calls `onStopped`, and the chat has no active stream. A stream that is
   * not active any more is left as it is. Returns whether it was stopped. `streamId`: by default the active one.
   */
  async stop({ chatId, streamId }: { chatId: string; streamId?: string | undefined }): Promise<boolean> {
    const active = await this.activeStreamId(chatId);
    if (active === null || (streamId !== undefined && streamId !== active)) return false;
    if (!(await deactivate(this.client.session(chatId), active))) return false;
    await this.#log(active).append(eventOf("stop", END, "stopped"));
    return true;
  }

  async *#follow(chatId: string, streamId: string, left: AbortController): AsyncGenerator<Uint8Array, void> {
    let silent = false;
    const silence = () => {
      silent = true;
      left.abort();
    };
    let alarm = setTimeout(silence, this.#options.silenceMs);
    try {
      for await (const { kind } of this.#log(streamId).watch({ from: "beginning" }, { signal: left.signal })) {
        clearTimeout(alarm);
        for (const { native } of kind.case === "batch" ? kind.value.events : []) {
          if (native?.format === END) return;
          if (native?.format === TEXT) yield native.content;
        }
        alarm = setTimeout(silence, this.#options.silenceMs);
      }
    } catch (error) {
      if (!left.signal.aborted) throw error;
    } finally {
      clearTimeout(alarm);
      if (silent) await deactivate(this.client.session(chatId), streamId);
    }
  }

  #log(streamId: string): SessionHandle {
    return this.client.session(`ai-sdk.stream.${streamId}`);
  }
}

/** Labels of the sessions that hold streams. */
const LABELS = { kind: "ai-sdk.stream" };

/** Returns an event with a part of a stream. */
function eventOf(eventId: string, format: string, text: string): EventInit {
  return { eventId, message: { role: Role.ASSISTANT, parts: [] }, native: { format, content: ENCODER.encode(text) } };
}

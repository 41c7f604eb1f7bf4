// Chats of the AI SDK: a chat is a session, a UI message is one event or several.

import { generateId, validateUIMessages, type UIMessage } from "ai";

import { isReason, newEventId, type Client, type CreateOptions, type EventInit, type SessionEvent, type SessionHandle, type SessionProperties } from "@threadkeep/client";

import { emptied, eventsOf, storedOf, type Message, type Stored } from "../formats/aiSdk.js";
import { sameJson } from "../formats/json.js";
import { activeStream } from "./activeStream.js";

/** Maximum number of events in one call. */
const BATCH = 1000;
const ACTIVE = { view: "active" } as const;

/** Options of `ThreadkeepChats`. */
export interface ChatOptions {
  /** Name of the agent, as the author of assistant messages. Default: none. */
  author?: string | undefined;
  /** Properties of a session that a save creates. Default: those of the server. */
  session?: SessionProperties | undefined;
}

/** What `validateUIMessages` of the AI SDK checks messages against. */
export type Validation<M extends UIMessage> = Omit<Parameters<typeof validateUIMessages<M>>[0], "messages">;

/** A chat as it was read. */
export interface Chat<M extends UIMessage> {
  messages: M[];
  /** Version for `saveChat` and `truncateChat`; 0 if the chat does not exist. */
  version: number;
  /** Id of the stream that is answering; null if there is none. */
  activeStreamId: string | null;
}

/** What `saveChat` saves. */
export interface SaveOptions<M extends UIMessage> {
  chatId: string;
  messages: readonly M[];
  /**
   * Version that was read: the chat then has exactly these messages, and others are removed. ChatChangedError if the chat was
   * changed since. Default: messages are added or replaced by their ids, and none is removed.
   */
  version?: number | undefined;
}

/** The body of a request of `DefaultChatTransport`, whole or with the last message only. */
export interface ChatRequest<M extends UIMessage> {
  /** Id of the chat. */
  id: string;
  /** The new message. Default: the last of `messages`. */
  message?: M | undefined;
  messages?: readonly M[] | undefined;
  trigger?: "submit-message" | "regenerate-message" | undefined;
  /** Id of the message that is edited or regenerated. */
  messageId?: string | undefined;
}

/** A chat was changed by someone else since it was read; read it again. What was replaced stays in the session's history. */
export class ChatChangedError extends Error {
  override readonly name = "ChatChangedError";

  constructor(readonly chatId: string, message = "was changed since it was read", cause?: unknown) {
    super(`the chat "${chatId}" ${message}`, { cause });
  }
}

/**
 * The chat store of an application: `createChat`, `loadChat` and `saveChat` as in the guides of the AI SDK, over sessions of the
 * client's user.
 *
 * @example
 * const chats = new ThreadkeepChats(connect({ app: "shop", userId: "alice" }));
 * const messages = await chats.receive(await request.json());
 */
export class ThreadkeepChats<M extends UIMessage = UIMessage> {
  constructor(
    private readonly client: Client,
    private readonly options: ChatOptions = {},
  ) {}

  /** Creates a chat and returns its id. Rejects "." and "..", which the AI SDK cannot request. Reasons: SESSION_ALREADY_EXISTS. */
  async createChat({ id = generateId(), ...options }: { id?: string } & CreateOptions = {}): Promise<string> {
    await this.#session(id).create({ ...this.options.session, ...options });
    return id;
  }

  /**
   * Returns the messages of a chat, without those that a compaction archived; none for an unknown chat. With `validate` they are
   * checked by `validateUIMessages`, which throws TypeValidationError.
   */
  async loadChat(id: string, { validate }: { validate?: Validation<M> | true | undefined } = {}): Promise<M[]> {
    const { stored } = await windowOf(this.#session(id));
    const messages = messagesOf<M>(stored);
    if (validate === undefined || messages.length === 0) return messages;
    return validateUIMessages<M>({ ...(validate === true ? {} : validate), messages });
  }

  /** Returns the messages of a chat with the version to save with, and the active stream. */
  async readChat(id: string): Promise<Chat<M>> {
    const session = this.#session(id);
    const [{ stored, version }, activeStreamId] = await Promise.all([windowOf(session), activeStream(session)]);
    return { messages: messagesOf<M>(stored), version: Number(version), activeStreamId };
  }

  /**
   * Saves messages. New ones are appended, changed ones replaced in place, by their ids; messages of the chat that are not given
   * stay, so a concurrent save loses nothing. Unchanged messages are not sent. Creates the chat if there is none.
   *
   * With a `version`, the chat has exactly these messages afterwards.
   */
  async saveChat({ chatId, messages, version }: SaveOptions<M>): Promise<void> {
    const session = this.#session(chatId);
    const window = await windowOf(session);
    if (version !== undefined) return this.#replace(session, window, messages as readonly Message[], version);
    const changed = changes(window.stored, messages as readonly Message[], this.options.author);
    for (let start = 0; start < changed.length; start += BATCH) await this.#append(session, changed.slice(start, start + BATCH));
  }

  /**
   * Removes what a new answer replaces: of an assistant message, it and all after it; of a user message, all after it. Returns the
   * removed messages, which stay in the session's history. `messageId`: by default the last message; an unknown one removes
   * nothing. A message that arrives meanwhile is removed and returned too, or with a `version` ChatChangedError is thrown.
   */
  async truncateChat({ chatId, messageId, version }: { chatId: string; messageId?: string | undefined; version?: number | undefined }): Promise<M[]> {
    const session = this.#session(chatId);
    for (;;) {
      const window = await windowOf(session);
      expectVersion(chatId, window.version, version);
      const at = messageId === undefined ? window.stored.length - 1 : window.stored.findIndex(({ message }) => message.id === messageId);
      const kept = at < 0 ? window.stored : window.stored.slice(0, window.stored[at]?.message.role === "assistant" ? at : at + 1);
      const removed = window.stored.slice(kept.length);
      const ids = new Set(removed.flatMap(({ events }) => events).map(({ eventId }) => eventId));
      const wanted = window.events.filter(({ eventId }) => !ids.has(eventId));
      if ((await swapped(session, window, wanted)) !== undefined) return messagesOf<M>(removed);
      if (version !== undefined) throw new ChatChangedError(chatId);
    }
  }

  /**
   * Stores what a request of the chat's page brings, and returns the messages to answer: a new message is added; an edited one is
   * replaced, and what came after it is removed; for a new answer, the old one is removed.
   */
  async receive({ id, message, messages, trigger, messageId }: ChatRequest<M>): Promise<M[]> {
    if (trigger === "regenerate-message" || messageId !== undefined) await this.truncateChat({ chatId: id, messageId });
    const given = message ?? messages?.at(-1);
    if (trigger !== "regenerate-message" && given !== undefined) await this.saveChat({ chatId: id, messages: [given] });
    return this.loadChat(id);
  }

  /** Deletes a chat with its messages. */
  async deleteChat(id: string): Promise<void> {
    await this.#session(id).delete();
  }

  #session(id: string): SessionHandle {
    if (id === "." || id === "..") throw new TypeError(`"${id}" is not the id of a chat: the AI SDK cannot request it`);
    return this.client.session(id);
  }

  async #append(session: SessionHandle, events: readonly EventInit[]): Promise<void> {
    const { events: appended } = await session.append(events, { ifExists: "replace", createIfMissing: this.options.session ?? true });
    const replayed = events.filter((_, place) => appended[place]?.replayed);
    if (replayed.length === 0) return;
    // They are stored already: by a concurrent save, or by an earlier one and removed from the window since.
    const active = new Set((await windowOf(session)).events.map(({ eventId }) => eventId));
    const removed = replayed.filter(({ eventId }) => !active.has(eventId!));
    if (removed.length > 0) await session.append(removed.map(restored), { ifExists: "replace" });
  }

  async #replace(session: SessionHandle, window: Window, messages: readonly Message[], version: number): Promise<void> {
    expectVersion(session.id, window.version, version);
    const events = replaced(window, messages, this.options.author);
    if (window.version === 0n) {
      await expected(session.id, session.append(events, { createIfMissing: this.options.session ?? true, expect: { logVersion: 0 } }));
      return;
    }
    const after = await swapped(session, window, events);
    if (after === undefined) throw new ChatChangedError(session.id);
    // The window had the same events, but one of them may have been replaced in place.
    if (after > window.version + 1n) throw new ChatChangedError(session.id, "was changed while it was replaced; both versions are in its history");
  }
}

/** The active window of a chat. */
interface Window {
  stored: Stored[];
  events: SessionEvent[];
  version: bigint;
}

async function windowOf(session: SessionHandle): Promise<Window> {
  const events: SessionEvent[] = [];
  let [version, pageToken] = [undefined as bigint | undefined, ""];
  do {
    const page = await session.eventsPage({ filter: ACTIVE, pageSize: BATCH, pageToken });
    version ??= page.logVersion; // The oldest: a change between two pages is then seen as a change since.
    events.push(...page.events);
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  return { stored: storedOf(events), events, version };
}

const messagesOf = <M extends UIMessage>(stored: readonly Stored[]) => stored.map(({ message }) => message as unknown as M);

/** Returns the events to store so that a chat has these messages: of new ones and of changed ones. */
function changes(stored: readonly Stored[], messages: readonly Message[], author: string | undefined): EventInit[] {
  const known = new Map(stored.map((each) => [each.message.id, each]));
  return messages.flatMap((message) => {
    const before = known.get(message.id);
    if (before !== undefined && sameJson(before.message, message)) return [];
    const events = eventsOf(message, author);
    const ids = new Set(events.map(({ eventId }) => eventId));
    const surplus = before?.events.filter(({ eventId }) => !ids.has(eventId)) ?? [];
    return [...events, ...surplus.map((event) => emptied(event, message.id))];
  });
}

/** Returns the events of a chat that has exactly these messages, and among them the records that are no messages. */
function replaced({ stored, events }: Window, messages: readonly Message[], author: string | undefined): EventInit[] {
  const known = new Map(stored.map((each) => [each.message.id, each]));
  const shown = new Set(stored.flatMap((each) => each.events));
  const records = events.filter((event) => !shown.has(event));
  const wanted = messages.flatMap<EventInit>((message) => {
    const before = known.get(message.id);
    const earlier = before === undefined ? 0 : records.findIndex((record) => events.indexOf(record) > events.indexOf(before.events[0]!));
    const kept = records.splice(0, earlier < 0 ? records.length : earlier);
    return [...kept, ...(before !== undefined && sameJson(before.message, message) ? before.events : eventsOf(message, author))];
  });
  return [...wanted, ...records];
}

/** Returns an event that differs from the same one that was removed: a repeated append of that would be taken for a retry. */
function restored(event: EventInit): EventInit {
  const metadata = JSON.parse(event.metadataJson || "{}") as object;
  return { ...event, metadataJson: JSON.stringify({ ...metadata, restored: newEventId() }) };
}

function expectVersion(chatId: string, found: bigint, version: number | undefined): void {
  if (version !== undefined && found !== BigInt(version)) throw new ChatChangedError(chatId);
}

/**
 * Replaces the events of a window by others, from the first that differs, in one commit. Returns the log version afterwards;
 * undefined if the window has changed.
 */
async function swapped(session: SessionHandle, { events, version }: Window, wanted: readonly EventInit[]): Promise<bigint | undefined> {
  let same = 0;
  while (same < events.length && events[same] === wanted[same]) same += 1;
  if (same === events.length && same === wanted.length) return version;
  const replaced = events.slice(same).map(({ eventId }) => eventId);
  if (replaced.length > BATCH) throw new RangeError(`at most ${BATCH} events of a chat can be replaced, not ${replaced.length}`);
  try {
    return (await session.replaceSuffix(replaced, wanted.slice(same))).logVersion;
  } catch (error) {
    if (isReason(error, "VERSION_MISMATCH")) return undefined;
    throw error;
  }
}

async function expected(chatId: string, change: Promise<unknown>): Promise<void> {
  try {
    await change;
  } catch (error) {
    throw isReason(error, "VERSION_MISMATCH") ? new ChatChangedError(chatId, undefined, error) : error;
  }
}

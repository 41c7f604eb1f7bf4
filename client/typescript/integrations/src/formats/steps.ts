// Messages that have a whole answer, step by step: texts, tool calls and their results. The AI SDK and Mastra have such messages.
//
// One is stored as the events that other frameworks expect: the model's, then one with the results of its calls, and so on. Each
// event has its share of the message's parts verbatim as native content.

import { Role, type EventInit, type Part, type SessionEvent } from "@threadkeep/client";
import type { DataPart, ToolResultPart } from "@threadkeep/client/v1";

import { jsonOf, parsed, valueOf } from "./json.js";
import { callPart, eventWith, nativeText, textsOf, type EventContext } from "./parts.js";

/** A part of a message as plain JSON: the framework's own types are checked by its users. */
export type MessagePart = { type: string } & Record<string, unknown>;

/** How a framework writes such messages. */
export interface Dialect<M extends { id: string }> {
  /** The native format of a message's first event: the message, with the parts of this event. */
  native: string;
  /** The native format of its other events: the message's id, and the parts of this event. */
  continued: string;
  roleOf(message: M): Role;
  /** Returns the parts of a message, to be read and added to. */
  partsOf(message: M): MessagePart[];
  /** Returns the message with other parts. */
  withParts(message: M, parts: MessagePart[]): M;
  /** Returns the id of the tool call that a part is; undefined for another part. */
  callIdOf(part: MessagePart): string | undefined;
  /** Returns the typed parts of a part, without the result of a call. */
  typed(part: MessagePart): Part[];
  /** Returns the result of a call; none while there is none. */
  resultsOf(part: MessagePart): Part[];
  /** Returns a message for an event that another framework wrote, without parts. */
  begun(event: SessionEvent, role: Role): M;
  /** Returns the message parts of a typed part; none of a result. */
  rendered(part: Part): MessagePart[];
  /** Gives a call its result. */
  settle(part: MessagePart, result: ToolResultPart): void;
}

/** Returns a result as one value: its JSON or its text; with media, an array of parts of the framework. */
export function outputOf<M extends { id: string }>({ rendered }: Pick<Dialect<M>, "rendered">, { structuredJson, parts }: ToolResultPart): unknown {
  const value = structuredJson === "" ? textsOf(parts) : (parsed(structuredJson) ?? structuredJson);
  const media = parts.filter(({ content }) => content.case === "media").flatMap(rendered);
  return media.length > 0 ? [...(value === "" ? [] : [{ type: "text", text: value }]), ...media] : value;
}

/** Returns content that no part of a framework expresses: its own part if it is one of the framework's, else a data part. */
export function dataOf(framework: string, { type, json }: DataPart): MessagePart {
  const value = parsed(json);
  if (type.startsWith(`${framework}.`) && isObject(value) && typeof value["type"] === "string") return value as MessagePart;
  return { type: `data-${type.replace(/[^\w-]+/g, "-")}`, data: value ?? json };
}

export const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns a text; of anything else, an empty one. */
export const textOr = (value: unknown): string => (typeof value === "string" ? value : "");

/** A message as it was read: its events, in window order. */
export interface Stored<M> {
  message: M;
  events: SessionEvent[];
}

const NUMBERED = /#\d+$/;

/**
 * Returns the events of one message. Their ids are that of the message, then those with "#1" and so on. Throws TypeError for a
 * message without an id, and for an id that ends like those. `context`: fields of each event; the author only of the model's.
 */
export function eventsOf<M extends { id: string }>(dialect: Dialect<M>, message: M, { author, ...context }: Omit<EventContext, "eventId"> = {}): EventInit[] {
  if (!message.id) throw new TypeError("a message needs an id to be stored");
  if (NUMBERED.test(message.id)) throw new TypeError(`the id of a message must not end with "#" and a number: "${message.id}"`);
  return sharesOf(dialect, message).map(({ role, own, parts }, number) => {
    const ids = { ...context, eventId: number === 0 ? message.id : `${message.id}#${number}`, author: role === Role.ASSISTANT ? author : undefined };
    const native = number === 0 ? dialect.withParts(message, own) : { id: message.id, parts: own };
    return eventWith(role, parts, number === 0 ? dialect.native : dialect.continued, jsonOf(native), ids);
  });
}

/** Returns the event that takes the place of one that a message does not have any more: without content. */
export function emptied<M extends { id: string }>(dialect: Dialect<M>, event: Pick<SessionEvent, "eventId" | "message"> | { eventId: string; message?: undefined }, messageId: string): EventInit {
  const role = event.message?.role ?? Role.ASSISTANT;
  return eventWith(role, [], dialect.continued, jsonOf({ id: messageId, parts: [] }), { eventId: event.eventId });
}

/** What one event has of a message: parts of the message, and the typed parts. */
interface Share {
  role: Role;
  own: MessagePart[];
  parts: Part[];
}

/** Returns the shares of a message. The results of calls follow the calls, before the next part that is no call. */
function sharesOf<M extends { id: string }>(dialect: Dialect<M>, message: M): Share[] {
  const shares: Share[] = [];
  const role = dialect.roleOf(message);
  let [own, results] = [[] as MessagePart[], [] as Part[]];
  const flush = () => {
    if (own.length > 0) shares.push({ role, own, parts: own.flatMap((part) => dialect.typed(part)) });
    if (results.length > 0) shares.push({ role: Role.TOOL, own: [], parts: results });
    [own, results] = [[], []];
  };
  for (const part of dialect.partsOf(message)) {
    if (results.length > 0 && dialect.callIdOf(part) === undefined) flush();
    own.push(part);
    results.push(...dialect.resultsOf(part));
  }
  flush();
  return shares.length > 0 ? shares : [{ role, own: [], parts: [] }];
}

/** Returns the messages of events, which are in window order. Those of other frameworks become messages by their typed parts. */
export function storedOf<M extends { id: string }>(dialect: Dialect<M>, events: readonly SessionEvent[]): Stored<M>[] {
  const reader = new Reader(dialect);
  for (const event of events) reader.add(event);
  return reader.found;
}

class Reader<M extends { id: string }> {
  readonly found: Stored<M>[] = [];
  readonly #own = new Map<string, Stored<M>>();
  readonly #calls = new Map<string, { part: MessagePart; stored: Stored<M> }>();
  /** The answer that a further event of the same author continues: with a new step if the last one has results. */
  #open: { stored: Stored<M>; author: string; settled: boolean } | undefined;

  constructor(private readonly dialect: Dialect<M>) {}

  add(event: SessionEvent): void {
    const first = nativeText(event, this.dialect.native);
    if (first !== undefined) {
      this.#open = undefined;
      const stored = this.#push(valueOf(first) as M, event);
      this.#own.set(stored.message.id, stored);
      return this.#remember(stored, this.dialect.partsOf(stored.message));
    }
    const more = nativeText(event, this.dialect.continued);
    const { id, parts } = (more === undefined ? { id: "", parts: [] } : valueOf(more)) as { id: string; parts: MessagePart[] };
    const own = this.#own.get(id);
    if (own === undefined) return this.#foreign(event);
    own.events.push(event);
    this.dialect.partsOf(own.message).push(...parts);
    this.#remember(own, parts);
  }

  #push(message: M, event: SessionEvent): Stored<M> {
    const stored = { message, events: [event] };
    this.found.push(stored);
    return stored;
  }

  #remember(stored: Stored<M>, parts: readonly MessagePart[]): void {
    for (const part of parts) {
      const id = this.dialect.callIdOf(part);
      if (id !== undefined) this.#calls.set(id, { part, stored });
    }
  }

  #foreign(event: SessionEvent): void {
    const { role = Role.USER, parts = [] } = event.message ?? {};
    if (parts.length === 0) return; // A record of another framework, such as a checkpoint, is no message.
    const shown = parts.flatMap((part) => this.dialect.rendered(part));
    const results = parts.flatMap(({ content }) => (content.case === "toolResult" ? [content.value] : []));
    if ((role === Role.USER || role === Role.SYSTEM) && results.length === 0) {
      this.#open = undefined;
      const stored = this.#push(this.dialect.begun(event, role), event);
      this.dialect.partsOf(stored.message).push(...shown);
      return;
    }
    const stored = this.#answer(event, role, results[0]);
    const all = this.dialect.partsOf(stored.message);
    if (role === Role.ASSISTANT && (all.length === 0 || this.#open?.settled)) all.push({ type: "step-start" });
    if (this.#open?.stored === stored) this.#open.settled = results.length > 0;
    all.push(...shown);
    this.#remember(stored, shown);
    for (const result of results) this.#addResult(stored, result);
  }

  /** Returns the answer that an event belongs to: a result to that of its call, else the open one of the same author, else a new one. */
  #answer(event: SessionEvent, role: Role, result: ToolResultPart | undefined): Stored<M> {
    const called = role === Role.ASSISTANT || result === undefined ? undefined : this.#calls.get(result.callId)?.stored;
    const open = this.#open !== undefined && (role !== Role.ASSISTANT || this.#open.author === event.author) ? this.#open.stored : undefined;
    const stored = called ?? open;
    if (stored !== undefined) {
      stored.events.push(event);
      return stored;
    }
    const begun = this.#push(this.dialect.begun(event, Role.ASSISTANT), event);
    this.#open = { stored: begun, author: event.author, settled: false };
    return begun;
  }

  #addResult(stored: Stored<M>, result: ToolResultPart): void {
    let part = this.#calls.get(result.callId)?.part;
    if (part === undefined) {
      // The call is not in the window: it is made up, so that the result can be shown.
      [part] = this.dialect.rendered(callPart(result.callId, result.name || "tool", ""));
      this.dialect.partsOf(stored.message).push(part!);
      this.#remember(stored, [part!]);
    }
    this.dialect.settle(part!, result);
  }
}

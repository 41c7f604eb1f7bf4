import {
  applySessionHistoryMutations, UserError, type AgentInputItem, type SessionHistoryRewriteArgs, type SessionHistoryRewriteAwareSession,
  type SessionHistoryTransactionArgs, type SessionHistoryTransactionAwareSession,
} from "@openai/agents";
import { isReason, newEventId, type Client, type EventInit, type SessionHandle, type SessionProperties } from "@threadkeep/client";

import { jsonOf, sameJson, sorted } from "../formats/json.js";
import { eventOf, type Item } from "../formats/openaiAgents.js";
import { fingerprintOf, operationKey, recorded, wasApplied } from "./operations.js";
import { readWindow, replaceEntries, type Entry } from "./window.js";

/** Options of a ThreadkeepSession. */
export interface ThreadkeepSessionOptions {
  /** Id of the session. Default: a new one. */
  sessionId?: string | undefined;
  /** Id of the agent that writes, for readers of the log; it is the author of the model's items. Default: none. */
  author?: string | undefined;
  /** Properties that the session gets when its first items are added: labels, metadata, expiry, state. */
  properties?: SessionProperties | undefined;
}

type Transaction = SessionHistoryTransactionArgs["transaction"];
type Replacement = Extract<Transaction, { type: "replace_suffix" }>;

const MISMATCH = "the session's items no longer end with the expected suffix";
const CONFLICT = "the session has applied another transaction with this operation id";

/**
 * A session of @openai/agents in Threadkeep: `run(agent, "Hi", { session: new ThreadkeepSession(client, { sessionId: "trip" }) })`.
 *
 * The session is that of the client's app and user. It is created with its first items. Appends of several runs are serialized
 * and all succeed; what is removed or replaced is archived, so that searches of the history find it. Methods throw
 * ThreadkeepError if a call fails, and UserError if the framework's contract refuses what is given.
 */
export class ThreadkeepSession implements SessionHistoryRewriteAwareSession, SessionHistoryTransactionAwareSession {
  readonly #session: SessionHandle;
  readonly #options: ThreadkeepSessionOptions;
  /** Seq of the last event when all items were last read. */
  #readThrough: bigint | undefined;
  /** Items of which it is unknown whether they are stored, with their events. */
  #unsure: { json: string; events: EventInit[] } | undefined;

  /** The client's user owns the session: `connect({ app: "shop", userId: "alice" })`. */
  constructor(client: Client, options: ThreadkeepSessionOptions = {}) {
    this.#session = client.session(options.sessionId ?? newEventId());
    this.#options = options;
  }

  async getSessionId(): Promise<string> {
    return this.#session.id;
  }

  /** Returns the newest items, oldest first; by default all. Zero or less is none. */
  async getItems(limit?: number): Promise<AgentInputItem[]> {
    if (limit !== undefined && limit <= 0) return [];
    const { items, lastSeq } = await readWindow(this.#session, limit);
    if (limit === undefined) this.#readThrough = lastSeq;
    return asItems(limit === undefined ? items : items.slice(-limit));
  }

  /**
   * Appends items, all or none. If the call fails and the same items are added next, they are stored once, also if the first call
   * had stored them.
   */
  async addItems(items: AgentInputItem[]): Promise<void> {
    if (items.length === 0) return;
    const json = jsonOf(items);
    const events = this.#unsure?.json === json ? this.#unsure.events : this.#eventsOf(items);
    this.#unsure = { json, events };
    await this.#session.append(events, { createIfMissing: this.#properties });
    this.#unsure = undefined;
  }

  /** Removes the newest item and returns it; undefined if there is none. Of concurrent calls each item is returned to one. */
  async popItem(): Promise<AgentInputItem | undefined> {
    for (;;) {
      const { entries, items } = await readWindow(this.#session, 1);
      if (items.length === 0) return undefined;
      const kept = items.slice(0, -1).map((item) => this.#eventOf(item));
      if (await replaceEntries(this.#session, entries, kept)) return asItems(items).at(-1);
    }
  }

  /** Removes all items. The session stays, with its labels and policy; operation ids are forgotten. */
  async clearSession(): Promise<void> {
    this.#unsure = undefined;
    await ifExists(this.#session.clear());
  }

  /**
   * Applies a transaction once: the operation id is stored in the same commit. The same id with a structurally equal transaction
   * changes nothing. Throws UserError for the same id with another transaction, and if the suffix is not the expected one; the id is
   * then not stored. Ids are remembered for 7 days, at most 1,000 per session.
   */
  async applyHistoryTransaction({ operationId, transaction }: SessionHistoryTransactionArgs): Promise<void> {
    if (typeof operationId !== "string" || !operationId.trim()) throw new UserError("the operation id must be a text that is not blank");
    const operation = operationKey(operationId);
    try {
      if (transaction.type === "append_items") await this.#appendOnce(operation, transaction.items);
      else if (transaction.type === "replace_suffix") await this.#replaceOnce(operation, transaction);
      else throw new UserError(`the transaction ${JSON.stringify((transaction as Transaction).type)} is not supported`);
    } catch (error) {
      throw isReason(error, "OPERATION_CONFLICT") ? new UserError(CONFLICT) : error;
    }
  }

  /**
   * Replaces function calls in place and removes later ones with the same call id, all or none. Nothing is lost if
   * others append at the same time.
   */
  async applyHistoryMutations({ mutations }: SessionHistoryRewriteArgs): Promise<void> {
    for (let done = mutations.length === 0; !done; ) {
      const window = await readWindow(this.#session);
      const changes = this.#changes(window.entries, asItems(applySessionHistoryMutations(asItems(window.items), mutations)));
      done = await this.#rewrite(window.entries, changes, window.logVersion);
    }
  }

  /**
   * Replaces all items by those of a compaction, in one change. Items that were added since this object last read all items stay,
   * after the new ones. Replaced items are archived. Requires the role compactor.
   */
  async replaceHistoryWithCompaction(items: AgentInputItem[]): Promise<void> {
    for (;;) {
      const { entries, logVersion } = await readWindow(this.#session);
      if (logVersion === 0n) return this.addItems(items);
      const [old, since] = divided(entries, this.#readThrough);
      const events = [...this.#merged(old, items), ...since.map(({ event }) => event)];
      const { replaced } = await this.#session.replaceEvents(events, { expect: { logVersion }, strategy: "openai-agents-compaction" });
      if (replaced) return;
    }
  }

  get #properties(): true | SessionProperties {
    return this.#options.properties ?? true;
  }

  #eventOf(item: Item, eventId?: string): EventInit {
    return eventOf(item, { eventId: eventId ?? newEventId(), author: this.#options.author });
  }

  /** Returns events with ids, so that an append of them can be repeated. */
  #eventsOf(items: readonly AgentInputItem[]): EventInit[] {
    return items.map((item) => this.#eventOf(item as Item));
  }

  async #appendOnce(operationId: string, items: readonly AgentInputItem[]): Promise<void> {
    const events = this.#eventsOf(sorted(items));
    if (events.length > 0) await this.#session.append(events, { operationId, createIfMissing: this.#properties });
    // An append has events. This stores the id alone; the branch makes it differ from an empty replacement.
    else await this.#existing(() => this.#session.replaceSuffix([], [], { operationId, branch: "" }));
  }

  async #replaceOnce(operation: string, transaction: Replacement): Promise<void> {
    const expected = transaction.expectedSuffix;
    const fingerprint = fingerprintOf(transaction);
    const replacement = this.#eventsOf(sorted(transaction.replacement));
    if (expected.length === 0) {
      await this.#existing(() => this.#session.replaceSuffix([], replacement, { operationId: operation }));
      return;
    }
    for (;;) {
      const { entries, items } = await readWindow(this.#session, expected.length);
      const matches = sameJson(items.slice(-expected.length), expected);
      try {
        const kept = items.slice(0, -expected.length).map((item) => this.#eventOf(item));
        const events = [...kept, ...recorded(operation, fingerprint, replacement)];
        if (matches && (await replaceEntries(this.#session, entries, events, operation))) return;
      } catch (error) {
        if (!isReason(error, "OPERATION_CONFLICT") || !(await wasApplied(this.#session, operation, fingerprint))) throw error;
        return;
      }
      if (matches) continue; // The suffix changed between the read and the call.
      if (await wasApplied(this.#session, operation, fingerprint)) return;
      throw new UserError(MISMATCH);
    }
  }

  /** Calls again with a new session if there is none. */
  async #existing<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      if (!isReason(error, "SESSION_NOT_FOUND")) throw error;
      await this.#session.create({ ...this.#options.properties, returnExisting: true });
      return call();
    }
  }

  /** Returns the entries with their new items: undefined for those that stay as they are. */
  #changes(entries: readonly Entry[], after: readonly AgentInputItem[]): (Item[] | undefined)[] {
    let next = 0;
    return entries.map(({ items }) => {
      const now: Item[] = [];
      for (const item of items) {
        const candidate = after[next] as Item | undefined;
        const stays = sameJson(item, candidate);
        const isReplaced = candidate?.["type"] === "function_call" && candidate["callId"] === item["callId"];
        if (!stays && !isReplaced) continue; // The item was removed.
        now.push(stays ? item : candidate!);
        next += 1;
      }
      return now.length === items.length && now.every((item, place) => item === items[place]) ? undefined : now;
    });
  }

  async #rewrite(entries: readonly Entry[], changes: readonly (Item[] | undefined)[], logVersion: bigint): Promise<boolean> {
    const first = changes.findIndex((change) => change !== undefined);
    if (first < 0) return true;
    const inPlace = entries.flatMap(({ event, items }, place) => {
      const change = changes[place];
      return change === undefined ? [] : change.length === 1 && items.length === 1 ? [this.#eventOf(change[0]!, event.eventId)] : [undefined];
    });
    if (inPlace.every((event) => event !== undefined)) return this.#replaceInPlace(inPlace, logVersion);
    const tail = entries.slice(first);
    const events = tail.flatMap(({ event, items }, place) => {
      const change = changes[first + place];
      if (change === undefined) return items.length === 0 ? [] : [event];
      return change.map((item) => this.#eventOf(item));
    });
    return replaceEntries(this.#session, tail, events);
  }

  async #replaceInPlace(events: readonly EventInit[], logVersion: bigint): Promise<boolean> {
    try {
      await this.#session.append(events, { ifExists: "replace", expect: { logVersion } });
      return true;
    } catch (error) {
      if (isReason(error, "VERSION_MISMATCH")) return false;
      throw error;
    }
  }

  /** Returns the events of items; those at the end that are stored already are the stored ones. */
  #merged(entries: readonly Entry[], items: readonly AgentInputItem[]): EventInit[] {
    const events: EventInit[] = [];
    let [place, index] = [entries.length - 1, items.length - 1];
    for (; place >= 0 && index >= 0; place -= 1) {
      const { event, items: own } = entries[place]!;
      if (own.length !== 1 || !sameJson(own[0], items[index])) break;
      events.unshift(event);
      index -= 1;
    }
    const inserted = items.slice(0, index + 1).map((item) => this.#eventOf(item as Item));
    return [...inserted, ...events];
  }
}

const asItems = (items: readonly unknown[]) => items as AgentInputItem[];

/** Divides entries into those up to a seq and those after it; all are up to an unknown one. */
function divided(entries: readonly Entry[], seq: bigint | undefined): [Entry[], Entry[]] {
  const isSince = ({ event }: Entry) => seq !== undefined && event.seq > seq;
  return [entries.filter((entry) => !isSince(entry)), entries.filter(isSince)];
}

async function ifExists(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!isReason(error, "SESSION_NOT_FOUND")) throw error;
  }
}

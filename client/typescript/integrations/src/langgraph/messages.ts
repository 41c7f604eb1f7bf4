// The messages of a graph's state as events of the conversation, and events as messages.

import { createHash } from "node:crypto";

import { BaseMessage, mapStoredMessagesToChatMessages, type StoredMessage } from "@langchain/core/messages";
import type { Checkpoint } from "@langchain/langgraph-checkpoint";
import type { EventInit, SessionEvent } from "@threadkeep/client";

import { sameJson, sorted, jsonOf } from "../formats/json.js";
import { eventOf, itemsOf, NATIVE, type Item } from "../formats/langchain.js";
import { Recent } from "./known.js";
import type { Changed } from "./threads.js";

/** The key in `response_metadata` of a message that was read from the event of another writer: it is stored already. */
const MARK = "threadkeep_event_id";
/** The key of metadata of the events that a saver stored. */
const OWN = "checkpoint_id";
const MOST_THREADS = 256;
const LONGEST_ID = 200;

type Messages = ReadonlyMap<string, BaseMessage>;

/** Which messages of the threads' states are stored. What it does not know is sent again, and ignored by the server. */
export class Conversation {
  readonly #stored = new Recent<Messages>(MOST_THREADS);

  /** `channel`: the channel with the messages; null: messages are not stored as events. */
  constructor(private readonly channel: string | null) {}

  /** Returns the messages of a checkpoint that are to be stored with it. Those of a subgraph reach the state of its parent. */
  changed(threadId: string, checkpoint: Checkpoint, { namespace, runId }: { namespace: string; runId: string }): Changed {
    const added: EventInit[] = [];
    const edited: EventInit[] = [];
    if (namespace !== "") return { added, edited };
    const known = this.#stored.get(threadId);
    for (const [eventId, message] of this.#of(checkpoint)) {
      const before = known?.get(eventId);
      if (MARK in (message.response_metadata ?? {}) || before === message) continue;
      const item = itemOf(message);
      if (before !== undefined && sameJson(itemOf(before), item)) continue;
      const event = { ...eventOf(item, { eventId, invocationId: runId }), metadataJson: JSON.stringify({ [OWN]: checkpoint.id }) };
      (before === undefined ? added : edited).push(event);
    }
    return { added, edited };
  }

  /** Notes that the messages of a checkpoint are stored. */
  stored(threadId: string, namespace: string, checkpoint: Checkpoint): void {
    if (namespace === "") this.#stored.set(threadId, new Map([...(this.#stored.get(threadId) ?? []), ...this.#of(checkpoint)]));
  }

  /** Returns the ids of the messages of a checkpoint. */
  ids(checkpoint: Checkpoint): Set<string | undefined> {
    return new Set([...this.#of(checkpoint).values()].map(({ id }) => id));
  }

  /** Forgets a thread that was deleted. */
  forget(threadId: string): void {
    this.#stored.delete(threadId);
  }

  /**
   * Returns messages by the ids of their events: a message's own id, or, without one that the server takes, a digest of its content
   * and a number if others have the same.
   */
  #of(checkpoint: Checkpoint): Messages {
    const value = this.channel === null ? undefined : checkpoint.channel_values[this.channel];
    const found = new Map<string, BaseMessage>();
    for (const message of Array.isArray(value) ? value : [value]) {
      if (!BaseMessage.isInstance(message)) continue;
      const id = idOf(message);
      let key = id;
      for (let number = 2; found.has(key); number += 1) key = `${id}#${number}`;
      found.set(key, message);
    }
    return found;
  }
}

/** Returns the JSON form of a message: what it leaves undefined is left out. */
const itemOf = (message: BaseMessage): Item => JSON.parse(JSON.stringify(message.toDict())) as Item;

function idOf(message: BaseMessage): string {
  const { id = "" } = message;
  if (id !== "" && Buffer.byteLength(id) <= LONGEST_ID && !/[\p{C}]/u.test(id)) return id;
  return `langchain:${createHash("sha256").update(jsonOf(sorted(itemOf(message)))).digest("hex")}`;
}

/** Returns whether a saver stored the event, from a message of a graph's state. */
export const isOwn = (event: SessionEvent): boolean =>
  event.native?.format === NATIVE && event.metadataJson.includes(`"${OWN}"`);

/** Returns the messages of an event, marked as stored. */
export function messagesOf(event: SessionEvent): BaseMessage[] {
  const messages = mapStoredMessagesToChatMessages(itemsOf(event) as unknown as StoredMessage[]);
  for (const message of messages) message.response_metadata = { ...message.response_metadata, [MARK]: event.eventId };
  return messages;
}

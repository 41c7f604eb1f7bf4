// The threads of messages by their ids, which are unique in a Mastra storage and not in a session.

import { Role, type Client, type EventInit, type SessionHandle } from "@threadkeep/client";

import { found, grouped } from "./threads.js";

/** Labels of the sessions that hold the index. */
export const INDEX = { mastra: "index" };

/** User who owns these sessions. */
const OWNER = "mastra";
/** Number of sessions that share the index, so that writers do not wait for each other. */
const SHARDS = 16;

/** Where a message is. */
export interface Place {
  threadId: string;
  /** Number of its events. */
  events: number;
}

/** The index of an app. An entry is an event whose id is that of a message: it is found by id, whatever the number of entries. */
export class MessageIndex {
  constructor(private readonly client: Client) {}

  /** Returns the places of messages; those that were never put are missing. */
  async find(messageIds: readonly string[]): Promise<Map<string, Place>> {
    const places = await Promise.all(
      [...new Set(messageIds)].map(async (id) => {
        const entry = await found(this.#shard(id).getEvent(id));
        return [id, entry?.metadataJson ? (JSON.parse(entry.metadataJson) as Place) : undefined] as const;
      }),
    );
    return new Map(places.filter((each): each is readonly [string, Place] => each[1] !== undefined));
  }

  /** Puts places by the ids of messages. Before the messages are stored: a place without its message is harmless. */
  async put(places: ReadonlyMap<string, Place>): Promise<void> {
    const shards = grouped(places, ([id]) => shardOf(id));
    await Promise.all(
      [...shards.values()].map((entries) =>
        this.#shard(entries[0]![0]).append(entries.map(eventOf), {
          ifExists: "replace",
          createIfMissing: { labels: INDEX, neverExpires: true },
        }),
      ),
    );
  }

  /** Removes places. */
  async remove(messageIds: readonly string[]): Promise<void> {
    const shards = grouped(await this.find(messageIds), ([id]) => shardOf(id));
    await Promise.all(
      [...shards.values()].map((entries) => {
        const gone = entries.map(([id]): EventInit => ({ ...eventOf([id, { threadId: "", events: 0 }]), metadataJson: "" }));
        return this.#shard(entries[0]![0]).append(gone, { ifExists: "replace" });
      }),
    );
  }

  #shard(messageId: string): SessionHandle {
    return this.client.session({ app: this.client.app, userId: OWNER, sessionId: `mastra.index.${shardOf(messageId)}` });
  }
}

const eventOf = ([id, place]: readonly [string, Place]): EventInit => ({
  eventId: id,
  message: { role: Role.SYSTEM, parts: [] },
  metadataJson: JSON.stringify(place),
});

/** Returns the shard of an id: a hash (FNV-1a) of its UTF-16 units. */
function shardOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let place = 0; place < id.length; place += 1) hash = Math.imul(hash ^ id.charCodeAt(place), 0x01000193);
  return (hash >>> 0) % SHARDS;
}

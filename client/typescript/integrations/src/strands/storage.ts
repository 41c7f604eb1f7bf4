// The storage of Strands: bytes under keys. The same in Python: see `threadkeep.integrations.strands`.

import { deflateSync, inflateSync } from "node:zlib";

import { StorageError } from "@strands-agents/sdk";
import type { Storage } from "@strands-agents/sdk/storage";

import { isReason, ThreadkeepError, type Client, type SessionHandle } from "@threadkeep/client";

import { created } from "../common/created.js";

/** Characters of base64 in one value of a state. */
const CHUNK = 1_000_000;
/** Maximum number of values: a state has at most 4 MiB. */
const MOST_CHUNKS = 4;

/** Options of `ThreadkeepStorage`. */
export interface StorageOptions {
  /** Beginning of the ids of the sessions. Default: "strands-storage/", as in Python. */
  prefix?: string | undefined;
}

/**
 * Bytes under keys: a session of the client's user for each key, with the bytes in its state. An app of its own keeps them out of
 * the lists of conversations. A key has at most 255 bytes with the prefix; a value at most 3 MB, compressed. A write replaces the
 * value at once, and nothing of the old one is kept. The sessions do not expire. All methods throw StorageError.
 *
 * @example
 * const session = new SessionManager({ sessionId: "trip", storage: new ThreadkeepStorage(connect({ app: "agents", userId: "alice" })) });
 */
export class ThreadkeepStorage implements Storage {
  readonly #prefix: string;

  constructor(
    private readonly client: Client,
    { prefix = "strands-storage/" }: StorageOptions = {},
  ) {
    this.#prefix = prefix;
  }

  /** Stores bytes under a key, in place of those that it has. */
  async write(key: string, data: Uint8Array): Promise<void> {
    const session = this.#session(key);
    const text = deflateSync(data).toString("base64");
    const count = Math.ceil(text.length / CHUNK);
    if (count > MOST_CHUNKS) {
      const limit = (MOST_CHUNKS * CHUNK * 3) / 4;
      throw new StorageError(`Failed to write '${key}': ${data.length} bytes are more than ${limit} when compressed`);
    }
    const chunks = Object.fromEntries(Array.from({ length: count }, (_, place) => [`${place}`, text.slice(place * CHUNK, (place + 1) * CHUNK)]));
    const unused = Array.from({ length: MOST_CHUNKS - count }, (_, place) => `${count + place}`);
    const patch = () => session.state().patch(chunks, { remove: unused });
    await reported(`write '${key}'`, async () => {
      if ((await found(patch())) !== undefined) return;
      await created(session, { neverExpires: true });
      await patch();
    });
  }

  /** Returns the bytes of a key; null if it has none. */
  async read(key: string): Promise<Uint8Array | null> {
    const session = this.#session(key);
    return reported(`read '${key}'`, async () => {
      const state = await found(session.state().get());
      const chunks = Array.from({ length: MOST_CHUNKS }, (_, place) => (state?.values[`${place}`] as string | undefined) ?? "");
      const text = chunks.join("");
      return text === "" ? null : new Uint8Array(inflateSync(Buffer.from(text, "base64")));
    });
  }

  /** Deletes a key; without one, nothing. */
  async delete(key: string): Promise<void> {
    const session = this.#session(key);
    await reported(`delete '${key}'`, () => session.delete());
  }

  /** Returns the keys that begin with a text, sorted; "" is all. */
  async list(prefix: string): Promise<string[]> {
    return reported(`list '${prefix}'`, async () => {
      const keys: string[] = [];
      for await (const { ref } of this.client.sessions({ sessionIdPrefix: this.#prefix + prefix, pageSize: 1000 })) {
        keys.push(ref!.sessionId.slice(this.#prefix.length));
      }
      return keys.sort();
    });
  }

  #session(key: string): SessionHandle {
    if (key === "") throw new StorageError("Storage key must not be empty");
    return this.client.session(this.#prefix + key);
  }
}

async function found<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isReason(error, "SESSION_NOT_FOUND")) return undefined;
    throw error;
  }
}

/** Returns the result of a call; errors of the client become errors of the storage. */
async function reported<T>(what: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof ThreadkeepError)) throw error;
    throw new StorageError(`Failed to ${what}: ${error.message}`, { cause: error });
  }
}

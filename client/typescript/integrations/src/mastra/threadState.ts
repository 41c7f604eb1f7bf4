// The state that agents keep of a thread, such as its tasks: state of the session.

import { ThreadStateStorage } from "@mastra/core/storage";

import type { Client } from "@threadkeep/client";

import { THREAD, found, Threads } from "./threads.js";

const PREFIX = "mastra.thread-state/";

/** Mastra's storage domain `threadState`: one value per thread and type. The thread must exist when a value is set. */
export class ThreadkeepThreadState extends ThreadStateStorage {
  readonly #threads: Threads;

  constructor(client: Client) {
    super();
    this.#threads = new Threads(client);
  }

  async init(): Promise<void> {}

  async getState<T = unknown>({ threadId, type }: { threadId: string; type: string }): Promise<T | undefined> {
    const session = await this.#threads.find(threadId);
    const state = session && (await found(session.state().get({ keys: [PREFIX + type] })));
    return state?.values[PREFIX + type] as T | undefined;
  }

  async setState<T = unknown>({ threadId, type, value }: { threadId: string; type: string; value: T }): Promise<void> {
    const session = await this.#threads.find(threadId);
    if (session === undefined) throw new Error(`Thread with id ${threadId} not found`);
    await session.state().patch({ [PREFIX + type]: value });
  }

  async deleteState({ threadId, type }: { threadId: string; type: string }): Promise<void> {
    const session = await this.#threads.find(threadId);
    if (session !== undefined) await found(session.state().patch({}, { remove: [PREFIX + type] }));
  }

  async dangerouslyClearAll(): Promise<void> {
    for await (const { ref } of this.#threads.client.sessions({ anyUser: true, labels: THREAD })) {
      const state = this.#threads.of(ref!.sessionId, ref!.userId).state();
      const { texts } = await state.get({ keyPrefix: PREFIX });
      if (Object.keys(texts).length > 0) await state.patch({}, { remove: Object.keys(texts) });
    }
  }
}

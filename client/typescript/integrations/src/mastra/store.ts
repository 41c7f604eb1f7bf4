import { MastraCompositeStore } from "@mastra/core/storage";

import type { Client } from "@threadkeep/client";

import { ThreadkeepMemoryStorage } from "./memory.js";
import { ThreadkeepThreadState } from "./threadState.js";

/**
 * A Mastra store with the domains `memory` and `threadState`. Give it as the `default` of a MastraCompositeStore, or its domains,
 * to keep the others elsewhere.
 *
 * @example
 * const mastra = new Mastra({ storage: new ThreadkeepStore(connect({ app: "shop" })) });
 */
export class ThreadkeepStore extends MastraCompositeStore {
  constructor(client: Client, { id = "threadkeep" }: { id?: string } = {}) {
    super({ id, name: "ThreadkeepStore", domains: { memory: new ThreadkeepMemoryStorage(client), threadState: new ThreadkeepThreadState(client) } });
  }
}

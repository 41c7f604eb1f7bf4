// `@threadkeep/client/strands`: the storage and the memory store of Strands Agents, in Threadkeep.

import "./strands/check.js";

export { ThreadkeepMemoryStore, type MemoryStoreOptions } from "./strands/memory.js";
export { ThreadkeepStorage, type StorageOptions } from "./strands/storage.js";

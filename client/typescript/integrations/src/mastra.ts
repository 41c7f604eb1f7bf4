// `@threadkeep/client/mastra`: the storage of Mastra's memory, in Threadkeep.

import "./mastra/check.js";

export { ThreadkeepMemoryStorage } from "./mastra/memory.js";
export { ThreadkeepStore } from "./mastra/store.js";
export { ThreadkeepThreadState } from "./mastra/threadState.js";

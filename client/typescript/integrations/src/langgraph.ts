// `@threadkeep/client/langgraph`: checkpoints and the long-term store of LangGraph, in Threadkeep.

import "./langgraph/check.js";

export { ThreadkeepSaver, type ThreadkeepSaverOptions } from "./langgraph/saver.js";
export { ThreadkeepStore, type ThreadkeepStoreOptions } from "./langgraph/store.js";

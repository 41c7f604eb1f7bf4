// `@threadkeep/client/adk`: sessions and memory of @google/adk, in Threadkeep.

import "./adk/check.js";

export { ThreadkeepMemoryService, type ThreadkeepMemoryServiceOptions } from "./adk/memory.js";
export { ThreadkeepSessionService, type ThreadkeepSessionServiceOptions } from "./adk/sessions.js";

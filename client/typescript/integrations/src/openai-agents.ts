// `@threadkeep/client/openai-agents`: sessions of @openai/agents, in Threadkeep.

import "./openai-agents/check.js";

export { ThreadkeepSession, type ThreadkeepSessionOptions } from "./openai-agents/session.js";

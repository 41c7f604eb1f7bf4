// `@threadkeep/client/ai-sdk`: the chats and resumable streams of the AI SDK, in Threadkeep.

import "./ai-sdk/check.js";

export { ChatChangedError, ThreadkeepChats, type Chat, type ChatOptions, type ChatRequest, type SaveOptions, type Validation } from "./ai-sdk/chats.js";
export { ThreadkeepStreams, type RecordOptions, type StreamOptions } from "./ai-sdk/streams.js";

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";

import type { Int64 } from "./convert.js";
import type { CompactionStrategySchema, CompactionTriggerSchema, SummaryPrompt } from "./gen/recollect/v1/compaction_pb.js";
import type { CreateIfMissingSchema, SortOrder } from "./gen/recollect/v1/event_service_pb.js";
import type { EventFilterSchema } from "./gen/recollect/v1/filter_pb.js";
import type { SearchMode } from "./gen/recollect/v1/recall_service_pb.js";
import type { SessionLike } from "./convert.js";

/** What any client is told; `connect` of Node and of browsers each know more. */
export interface ClientOptions {
  /** The server. */
  address?: string;
  /** Sent as "authorization: Bearer". */
  token?: string;
  /** With `userId`, completes a session that is given by its id alone. Give both or neither, unless the token names the user. */
  app?: string;
  /** See `app`. */
  userId?: string;
  /** Milliseconds a call may take, its retries included; Infinity for no limit. Streams have none. Default 30,000. */
  timeoutMs?: number;
  /** Makes the transport: for a protocol, a proxy or a runtime that the client does not know. */
  transport?: (baseUrl: string) => Transport;
}

/** What any call may be told. */
export interface CallOptions {
  /** Milliseconds, in place of the client's. */
  timeoutMs?: number;
  /** Ends the call with a RecollectError of code Canceled. */
  signal?: AbortSignal;
}

export interface AppendOptions extends CallOptions {
  /** Make a session that is missing: true, or how. */
  create?: boolean | MessageInitShape<typeof CreateIfMissingSchema>;
  /** Append only if the session is at this log_version. Not with `expectedLastEventId`. */
  expectedLogVersion?: Int64;
  /** Append only if this is the last event's id; "" for an empty log. */
  expectedLastEventId?: string;
  /** An event id that is stored already is no error, whatever its content. */
  ignoreExisting?: boolean;
}

/** `pageSize`: items fetched at a time; 0 is the server's default. The timeout is each page's. */
export interface PageOptions extends CallOptions {
  pageSize?: number;
}

export interface EventsOptions extends PageOptions {
  /** Which events; all by default. */
  filter?: MessageInitShape<typeof EventFilterSchema>;
  /** Oldest first by default. */
  order?: SortOrder;
}

export interface SessionsOptions extends PageOptions {
  /** By default the client's; "" is any. */
  userId?: string;
  /** By default the client's, else any; "" is sessions without one. */
  app?: string;
  /** Only sessions that bear all of them. */
  labels?: Record<string, string>;
}

export interface SearchOptions extends PageOptions {
  /** Look in this session; by default in all of `userId`, by default the client's, in `app`, by default the client's, else any. */
  session?: SessionLike;
  userId?: string;
  app?: string;
  filter?: MessageInitShape<typeof EventFilterSchema>;
  mode?: SearchMode;
}

/** Whose changes to follow: sessions that satisfy every field. */
export interface Scope {
  /** By default the client's; "" is any. */
  userId?: string;
  /** By default the client's, else any; "" is sessions without one. */
  app?: string;
  /** Only sessions that bear all of them. At most 64. */
  labels?: Record<string, string>;
}

export interface CompactOptions extends CallOptions {
  /** By default that of the session's policy. */
  strategy?: MessageInitShape<typeof CompactionStrategySchema>;
  /** Only if it fires. */
  trigger?: MessageInitShape<typeof CompactionTriggerSchema>;
  /** This branch's own events alone. */
  branch?: string;
  /** Only say what would be done. */
  dryRun?: boolean;
  /** What the caller calls itself in the record. */
  actor?: string;
}

export interface CompactWithOptions extends CallOptions {
  strategy?: MessageInitShape<typeof CompactionStrategySchema>;
  branch?: string;
  actor?: string;
  /** How often to plan, at most, when other compactions are faster. Default 5. */
  attempts?: number;
}

/** Answers a plan's prompt, with a model for example. */
export type Summarise = (prompt: SummaryPrompt) => string | Promise<string>;

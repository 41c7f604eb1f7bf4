import { create, type DescService, type MessageInitShape } from "@bufbuild/protobuf";
import { createClient, type CallOptions, type Client as ServiceClient, Code, type Transport } from "@connectrpc/connect";

import { isReason, ThreadkeepError } from "./errors.js";
import type { Compaction, CompactionPlan, SummaryPrompt } from "./gen/threadkeep/v1/compaction_pb.js";
import * as compaction from "./gen/threadkeep/v1/compaction_service_pb.js";
import type { ContextSpecSchema } from "./gen/threadkeep/v1/context_pb.js";
import type { SessionEvent } from "./gen/threadkeep/v1/event_pb.js";
import * as events from "./gen/threadkeep/v1/event_service_pb.js";
import type { MemoryScopeSchema } from "./gen/threadkeep/v1/memory_pb.js";
import { Role } from "./gen/threadkeep/v1/message_pb.js";
import { SearchService, type SearchEventsRequestSchema, type SearchHit } from "./gen/threadkeep/v1/search_service_pb.js";
import { SessionRefSchema, type Session, type SessionRef } from "./gen/threadkeep/v1/session_pb.js";
import {
  SessionService,
  type DeleteExpiredSessionsRequestSchema,
  type DeleteExpiredSessionsResponse,
  type ListSessionsRequestSchema,
} from "./gen/threadkeep/v1/session_service_pb.js";
import type { Change } from "./gen/threadkeep/v1/subscription_pb.js";
import { SubscriptionService, type ChangeScopeSchema } from "./gen/threadkeep/v1/subscription_service_pb.js";
import { UserMemory } from "./memory.js";
import { assistant, newEventId, user, type EventInit } from "./messages.js";
import { paged } from "./pages.js";
import type { Fields, ServiceCaller, SessionLike } from "./requests.js";
import { narrowed, searched, type Reach } from "./scope.js";
import { keepByteOrderMarks } from "./text.js";
import { reliable } from "./transport.js";
import { follow, opener, type WatchOptions } from "./watch.js";

/** What `connect` is told. */
export interface ClientOptions {
  /** The server. */
  address?: string | undefined;
  /** Sent as "authorization: Bearer"; empty for none. Without TLS it is refused for every address but loopback. */
  token?: string | undefined;
  /** Send the token without TLS over a network too. */
  allowPlaintextToken?: boolean | undefined;
  /**
   * With `userId`, completes a session that is given by its id alone, and fills what lists, watches and searches leave empty. Give
   * both or neither, unless the token names the user.
   */
  app?: string | undefined;
  /** See `app`. */
  userId?: string | undefined;
  /** Milliseconds a call may take, its retries included; 0 for no limit. Streams have none. Default 30,000. */
  timeoutMs?: number | undefined;
}

export interface AppendOptions extends CallOptions {
  /** Make a session that is missing: true, or how. */
  create?: boolean | MessageInitShape<typeof events.CreateIfMissingSchema> | undefined;
  /** Append only if the session is at this log_version. Not with `expectedLastEventId`. */
  expectedLogVersion?: bigint | undefined;
  /** Append only if this is the last event's id; "" for an empty log. */
  expectedLastEventId?: string | undefined;
  /** An event id that is stored already is no error, whatever its content. */
  ignoreExisting?: boolean | undefined;
}

export type EventsOptions = Fields<typeof events.ListEventsRequestSchema, "session" | "pageToken">;
export type SessionsOptions = Fields<typeof ListSessionsRequestSchema, "pageToken"> & Reach;
export type ExpiredSessionsOptions = Fields<typeof DeleteExpiredSessionsRequestSchema, never> & Reach;
export type SearchOptions = Fields<typeof SearchEventsRequestSchema, "query" | "pageToken"> & Reach & { session?: SessionLike | undefined };
export type CompactionsOptions = Fields<typeof compaction.ListCompactionsRequestSchema, "session" | "pageToken">;
export type CompactOptions = Fields<typeof compaction.CompactSessionRequestSchema, "session">;
/** What `compactContext` takes from the context is not among them. */
export type CompactContextOptions = Fields<
  typeof compaction.ApplyCompactionRequestSchema,
  "session" | "expectedWindowVersion" | "archive" | "fromSeq" | "inserts"
>;
export type CompactWithOptions = Fields<typeof compaction.PlanCompactionRequestSchema, "session"> & { actor?: string | undefined };

/** What the server's own summaries answer. */
const SHADOW_PROMPT = "Summarize the conversation we had so far.";

/** How often `compactWith` plans, at most, when other compactions are faster. */
const PLANS = 5;

/**
 * A client of one server; share one, and close it. Make it with `connect`.
 *
 * Calls that are safe to repeat are sent up to five times while the server is unavailable. Every method may fail with a
 * ThreadkeepError of code Unavailable or DeadlineExceeded, or of reason UNAUTHENTICATED, PERMISSION_DENIED, INVALID_FIELD,
 * STORE_UNAVAILABLE, SERVER_DRAINING, RATE_LIMITED or INTERNAL; further reasons are named with the method.
 */
export class Client implements ServiceCaller {
  readonly address: string;
  /** What completes a session's id. */
  readonly app: string;
  /** See `app`. */
  readonly userId: string;
  readonly #closing = new AbortController();
  readonly #transport: Transport;

  /** @internal Use `connect`. */
  constructor(transport: Transport, private readonly disconnect: () => void, options: ClientOptions & { address: string }) {
    keepByteOrderMarks();
    const { address, token = "", app = "", userId = "", timeoutMs = 30_000 } = options;
    [this.address, this.app, this.userId] = [address, app, userId];
    this.#transport = reliable(transport, { address, token, timeoutMs, closed: this.#closing.signal });
  }

  /** Ends the connection. Calls and watches under way fail with code Canceled, and so do later ones. Closing twice does nothing. */
  close(): void {
    this.#closing.abort(new ThreadkeepError("the client is closed", Code.Canceled));
    this.disconnect();
  }

  /**
   * Every RPC of a service, as Connect's client: `client.service(SessionService).getSession({ session: client.ref("s1") })`. Calls
   * carry the token, have the client's timeout, are repeated where that is safe, and fail with ThreadkeepError. Streams have no
   * timeout, are not reopened, and end when their `signal` is aborted: leaving their loop does not end them.
   */
  service<S extends DescService>(service: S): ServiceClient<S> {
    return createClient(service, this.#transport);
  }

  /** The reference to a session, as requests need it. */
  ref(session: SessionLike): SessionRef {
    const { app, userId } = this;
    return create(SessionRefSchema, typeof session === "string" ? { app, userId, sessionId: session } : session);
  }

  /**
   * Appends events, all or none; when it resolves they are on durable storage.
   *
   * Events without an id get one before they are sent, in a copy, so that the client's own retries store nothing twice. To retry
   * across errors yourself, give the events ids of `newEventId()`. Reasons: SESSION_NOT_FOUND, VERSION_MISMATCH, EVENT_ID_CONFLICT,
   * EVENT_TOO_LARGE, BATCH_TOO_LARGE. Both expectations at once are a TypeError.
   */
  async append(session: SessionLike, given: EventInit | readonly EventInit[], options: AppendOptions = {}): Promise<events.AppendEventsResponse> {
    const { create, expectedLogVersion: version, expectedLastEventId: last, ignoreExisting } = options;
    if (version !== undefined && last !== undefined) throw new TypeError("give at most one of expectedLogVersion and expectedLastEventId");
    const request: MessageInitShape<typeof events.AppendEventsRequestSchema> = {
      session: this.ref(session),
      events: [given].flat().map((event: EventInit) => ({ ...event, eventId: event.eventId || newEventId() })),
      createIfMissing: create === true ? {} : create || undefined,
      ifExists: ignoreExisting ? events.IfExists.IGNORE : events.IfExists.UNSPECIFIED,
    };
    if (version !== undefined) request.precondition = { case: "expectedLogVersion", value: version };
    if (last !== undefined) request.precondition = { case: "expectedLastEventId", value: last };
    return this.service(events.EventService).appendEvents(request, options);
  }

  /** The session's events that match, page after page; an unknown session has none. Reasons: AMBIGUOUS_SESSION. */
  events(session: SessionLike, options: EventsOptions = {}): AsyncGenerator<SessionEvent, void> {
    const request = { ...options, session: this.ref(session) };
    const fetch = (pageToken: string) => this.service(events.EventService).listEvents({ ...request, pageToken }, options);
    return paged(fetch, (page) => page.events);
  }

  /**
   * Sessions, newest first. A user or app that `options` does not name is the client's, unless `allUsers` or `allApps` is set:
   * `client.sessions({ labels: { team: "eu" }, allUsers: true })`.
   */
  sessions(options: SessionsOptions = {}): AsyncGenerator<Session, void> {
    const request = narrowed(this, options, options);
    const fetch = (pageToken: string) => this.service(SessionService).listSessions({ ...request, pageToken }, options);
    return paged(fetch, (page) => page.sessions);
  }

  /**
   * Deletes sessions that have expired, at most 1,000 a call: those of the client's user and app, unless `options` says otherwise as
   * for `sessions`. The server also deletes them by itself. `more` in the response means: call again.
   */
  async deleteExpiredSessions(options: ExpiredSessionsOptions = {}): Promise<DeleteExpiredSessionsResponse> {
    return this.service(SessionService).deleteExpiredSessions(narrowed(this, options, options), options);
  }

  /**
   * Events that answer `query`, at most 1,024 characters, archived ones too: in `session`, in `scope`, or in all sessions of the
   * client's user and app. A user or app that a scope of a user leaves empty is the client's, unless `allUsers` or `allApps` is set.
   * Without `mode` the server picks how to search (SearchMode.AUTO). Best first: take as many as are of use; with
   * SearchMode.SUBSTRING oldest first. Reasons: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, EMBEDDER_NOT_CONFIGURED, EMBEDDER_FAILED.
   */
  search(query: string, options: SearchOptions = {}): AsyncGenerator<SearchHit, void> {
    const { session } = options;
    const scope = session === undefined ? searched(this, options.scope, options) : ({ case: "session", value: this.ref(session) } as const);
    const request = { ...options, query, scope };
    const fetch = (pageToken: string) => this.service(SearchService).searchEvents({ ...request, pageToken }, options);
    return paged(fetch, (page) => page.hits);
  }

  /** The long-term memory of a user in an app. What `scope` leaves out is the client's; an app of "" is no app. Makes no call. */
  memory(scope: MessageInitShape<typeof MemoryScopeSchema> = {}): UserMemory {
    return new UserMemory(this, { app: scope.app ?? this.app, userId: scope.userId || this.userId });
  }

  /** The records of a session's compactions, newest first. Reasons: SESSION_NOT_FOUND. */
  compactions(session: SessionLike, options: CompactionsOptions = {}): AsyncGenerator<Compaction, void> {
    const request = { ...options, session: this.ref(session) };
    const fetch = (pageToken: string) => this.service(compaction.CompactionService).listCompactions({ ...request, pageToken }, options);
    return paged(fetch, (page) => page.compactions);
  }

  /**
   * What an agent should see now: the SYSTEM event, the summaries, then whole turns of the active window. `spec` narrows it; by
   * default it is the window within the session's or the server's size. An unknown session gives an empty one.
   */
  async context(session: SessionLike, spec?: MessageInitShape<typeof ContextSpecSchema>, options?: CallOptions): Promise<events.GetContextResponse> {
    return this.service(events.EventService).getContext({ session: this.ref(session), spec }, options);
  }

  /**
   * Has the server compact a session: archive events, and insert summaries or stubs. Nothing is deleted, and nothing to do is no
   * error. A summary takes as long as the server's model: give it a timeout. Reasons: SESSION_NOT_FOUND, SUMMARIZER_NOT_CONFIGURED,
   * SUMMARIZER_FAILED, VERSION_MISMATCH.
   */
  async compact(session: SessionLike, options: CompactOptions = {}): Promise<compaction.CompactSessionResponse> {
    return this.service(compaction.CompactionService).compactSession({ ...options, session: this.ref(session) }, options);
  }

  /**
   * Replaces what a context held by a summary of it, or by other events. Only what `seen` held is archived: what its size or filters
   * left out and what was appended since stay in the window. Nothing is deleted.
   *
   * `seen` is what `context` returned. A summary that is a text becomes a turn of two events, as the server's summaries are; events of
   * your own are marked as synthetic. Throws a TypeError for a blank summary. Reasons: NOTHING_TO_COMPACT, before anything is sent, if
   * nothing of `seen` may be archived (`seen.compactableThroughSeq` is 0n); SESSION_NOT_FOUND; VERSION_MISMATCH after another
   * compaction: read the context again.
   */
  async compactContext(
    session: SessionLike,
    seen: events.GetContextResponse,
    summary: string | readonly EventInit[],
    options: CompactContextOptions = {},
  ): Promise<compaction.ApplyCompactionResponse> {
    const { compactableThroughSeq: throughSeq, firstSeq: fromSeq, windowVersion: expectedWindowVersion } = seen;
    if (throughSeq === 0n) {
      const message = "nothing of this context may be archived: it is empty, or its spec left out the events that come first";
      throw new ThreadkeepError(message, Code.FailedPrecondition, { reason: "NOTHING_TO_COMPACT" });
    }
    if (typeof summary === "string") requireSummary(summary);
    const compactionId = options.compactionId || newEventId();
    const given = typeof summary === "string" ? [user(SHADOW_PROMPT), assistant(summary)] : summary;
    const inserted = given.map((event) => ({ ...event, synthetic: true, compactionSource: event.compactionSource || "summary" }));
    const inserts = inserted.length > 0 ? [{ events: inserted }] : [];
    const archive = { case: "throughSeq", value: throughSeq } as const;
    const request = { ...options, session: this.ref(session), compactionId, expectedWindowVersion, archive, fromSeq, inserts };
    return this.service(compaction.CompactionService).applyCompaction(request, options);
  }

  /**
   * Compacts with a model of the caller's: plans, has `summarize` answer the prompt if there is one, applies. Undefined: nothing
   * to do. When another compaction was faster it plans anew, and does not ask again for the same prompt. The timeout is that of
   * each call to the server. A blank answer is a TypeError, and what `summarize` throws is thrown; the session is then as it was.
   * Reasons: SESSION_NOT_FOUND, and VERSION_MISMATCH when five races were lost.
   */
  async compactWith(
    session: SessionLike,
    summarize: (prompt: SummaryPrompt) => string | Promise<string>,
    options: CompactWithOptions = {},
  ): Promise<compaction.ApplyCompactionResponse | undefined> {
    const service = this.service(compaction.CompactionService);
    const ref = this.ref(session);
    const answers = new Map<string, string>();
    for (let planned = 1; ; planned++) {
      const { plan, windowVersion } = await service.planCompaction({ ...options, session: ref }, options);
      if (!plan || (plan.archiveEventIds.length === 0 && plan.inserts.length === 0)) return undefined;
      if (plan.summaryPrompt) {
        const { digest } = plan.summaryPrompt;
        const summary = answers.get(digest) ?? (await summarize(plan.summaryPrompt));
        requireSummary(summary);
        answers.set(digest, summary);
        complete(plan, summary);
      }
      const { archiveEventIds: ids, inserts, branch, strategy } = plan;
      const archive = { case: "eventIds", value: { ids } } as const;
      const request = { session: ref, compactionId: newEventId(), expectedWindowVersion: windowVersion, archive, inserts, branch, strategy };
      try {
        return await service.applyCompaction({ ...request, actor: options.actor }, options);
      } catch (error) {
        if (!isReason(error, "VERSION_MISMATCH") || planned === PLANS) throw error;
      }
    }
  }

  /**
   * Follows every change of one session, which need not exist yet, or of all sessions of a scope. A user or app that a scope does not
   * name is the client's, unless `allUsers` or `allApps` is set: `client.watch({ scope: {}, allUsers: true })`. Changes come in order, each once, an append as a whole. Keep a change's `resumeToken` once it is handled: a
   * watch with it and the same scope and filter goes on after it.
   *
   * It has no deadline. When the server is unavailable or silent for 30 seconds the stream is opened again where it stood, after a
   * pause of up to 0.1 seconds that doubles up to 5, `maxRetries` times in a row; any message begins a new row. Leaving the loop
   * ends the call. Reasons: SESSION_NOT_FOUND and AMBIGUOUS_SESSION for a session without user, INVALID_RESUME_TOKEN,
   * QUOTA_EXCEEDED, and RESUME_POSITION_EXPIRED when the feed no longer holds what comes next: then changes were missed, so read
   * the sessions again before you start at its `oldest_resume_token`. `afterSeq` of a scope is a TypeError.
   */
  watch(whose: SessionLike | ({ scope: MessageInitShape<typeof ChangeScopeSchema> } & Reach), options: WatchOptions = {}): AsyncGenerator<Change, void> {
    const isScope = typeof whose === "object" && "scope" in whose;
    const followed = isScope ? { scope: narrowed(this, whose.scope, whose) } : { session: this.ref(whose) };
    const open = opener(this.service(SubscriptionService), followed, options);
    return follow(open, options, { address: this.address, closed: this.#closing.signal });
  }
}

/** Throws TypeError for a summary of which nothing would be left to read. */
function requireSummary(summary: string | undefined): asserts summary is string {
  if (!summary?.trim()) throw new TypeError("the summary is blank; the session is as it was");
}

/** Puts the model's text into the event that the plan leaves empty for it. */
function complete({ inserts }: CompactionPlan, summary: string): void {
  for (const { message } of inserts.flatMap((insert) => insert.events)) {
    const content = message?.parts.length === 1 ? message.parts[0]!.content : undefined;
    if (message?.role === Role.ASSISTANT && content?.case === "text" && !content.value) content.value = summary;
  }
}

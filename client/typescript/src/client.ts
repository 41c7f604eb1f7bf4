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

/** Options of `connect`. */
export interface ClientOptions {
  /** Address of the server. */
  address?: string | undefined;
  /** Token, sent as "authorization: Bearer"; empty for none. Without TLS it is rejected for addresses other than loopback. */
  token?: string | undefined;
  /** Sends the token over a network without TLS too. */
  allowPlaintextToken?: boolean | undefined;
  /**
   * App of the client. With `userId`, it completes sessions that are specified by id alone, and app and user where lists,
   * watches and searches leave them empty. Specify both or neither, unless the token is bound to a user.
   */
  app?: string | undefined;
  /** User of the client; see `app`. */
  userId?: string | undefined;
  /** Timeout of a call in milliseconds, retries included; 0 for no limit. Streams have no timeout. Default: 30,000. */
  timeoutMs?: number | undefined;
}

export interface AppendOptions extends CallOptions {
  /** Creates a missing session if true or if its properties are given. */
  create?: boolean | MessageInitShape<typeof events.CreateIfMissingSchema> | undefined;
  /** Log version that the session must have. Excludes `expectedLastEventId`. */
  expectedLogVersion?: bigint | undefined;
  /** Event id that the last event must have; "" for an empty log. */
  expectedLastEventId?: string | undefined;
  /** Accepts event ids that are already stored, regardless of the content. */
  ignoreExisting?: boolean | undefined;
}

export type EventsOptions = Fields<typeof events.ListEventsRequestSchema, "session" | "pageToken">;
export type SessionsOptions = Fields<typeof ListSessionsRequestSchema, "pageToken"> & Reach;
export type ExpiredSessionsOptions = Fields<typeof DeleteExpiredSessionsRequestSchema, never> & Reach;
export type SearchOptions = Fields<typeof SearchEventsRequestSchema, "query" | "pageToken"> & Reach & { session?: SessionLike | undefined };
export type CompactionsOptions = Fields<typeof compaction.ListCompactionsRequestSchema, "session" | "pageToken">;
export type CompactOptions = Fields<typeof compaction.CompactSessionRequestSchema, "session">;
/** The options of `compactContext`, except the fields that come from the context. */
export type CompactContextOptions = Fields<
  typeof compaction.ApplyCompactionRequestSchema,
  "session" | "expectedWindowVersion" | "archive" | "fromSeq" | "inserts"
>;
export type CompactWithOptions = Fields<typeof compaction.PlanCompactionRequestSchema, "session"> & { actor?: string | undefined };

/** The user message before a summary, the same as in the server's summaries. */
const SHADOW_PROMPT = "Summarize the conversation we had so far.";

/** Maximum number of plans of `compactWith` when other compactions are committed first. */
const PLANS = 5;

/**
 * A client of one server. Create it with `connect`, share it, and close it.
 *
 * Calls that are safe to repeat are sent up to five times while the server is unavailable. Every method may fail with a
 * ThreadkeepError of code Unavailable or DeadlineExceeded, or of reason UNAUTHENTICATED, PERMISSION_DENIED, INVALID_FIELD,
 * STORE_UNAVAILABLE, SERVER_DRAINING, RATE_LIMITED or INTERNAL. Methods document further reasons.
 */
export class Client implements ServiceCaller {
  readonly address: string;
  /** App that completes a session id. */
  readonly app: string;
  /** User that completes a session id. */
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

  /** Closes the connection. Active and later calls and watches fail with code Canceled. Closing twice has no effect. */
  close(): void {
    this.#closing.abort(new ThreadkeepError("the client is closed", Code.Canceled));
    this.disconnect();
  }

  /**
   * Returns a Connect client for every RPC of a service: `client.service(SessionService).getSession({ session: client.ref("s1")
   * })`. Calls send the token, have the client's timeout, are retried if that is safe, and fail with ThreadkeepError. Streams
   * have no timeout, are not reopened, and end when their `signal` is aborted; leaving the loop does not end them.
   */
  service<S extends DescService>(service: S): ServiceClient<S> {
    return createClient(service, this.#transport);
  }

  /** Returns the complete reference of a session, for requests. */
  ref(session: SessionLike): SessionRef {
    const { app, userId } = this;
    return create(SessionRefSchema, typeof session === "string" ? { app, userId, sessionId: session } : session);
  }

  /**
   * Appends events, all or none. When it resolves, they are on durable storage.
   *
   * Events without an id get one in a copy before they are sent, so that the client's retries store nothing twice. To retry
   * after errors yourself, set event ids from `newEventId()`. Throws TypeError if both expectations are set. Reasons:
   * SESSION_NOT_FOUND, VERSION_MISMATCH, EVENT_ID_CONFLICT, EVENT_TOO_LARGE, BATCH_TOO_LARGE.
   */
  async append(session: SessionLike, given: EventInit | readonly EventInit[], options: AppendOptions = {}): Promise<events.AppendEventsResponse> {
    const { create, expectedLogVersion: version, expectedLastEventId: last, ignoreExisting } = options;
    if (version !== undefined && last !== undefined) throw new TypeError("set at most one of expectedLogVersion and expectedLastEventId");
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

  /** Iterates over the matching events of a session, page by page. An unknown session has none. Reasons: AMBIGUOUS_SESSION. */
  events(session: SessionLike, options: EventsOptions = {}): AsyncGenerator<SessionEvent, void> {
    const request = { ...options, session: this.ref(session) };
    const fetch = (pageToken: string) => this.service(events.EventService).listEvents({ ...request, pageToken }, options);
    return paged(fetch, (page) => page.events);
  }

  /**
   * Iterates over sessions, newest first. A user or app that `options` leaves empty is the client's, unless `allUsers` or
   * `allApps` is set: `client.sessions({ labels: { team: "eu" }, allUsers: true })`.
   */
  sessions(options: SessionsOptions = {}): AsyncGenerator<Session, void> {
    const request = narrowed(this, options, options);
    const fetch = (pageToken: string) => this.service(SessionService).listSessions({ ...request, pageToken }, options);
    return paged(fetch, (page) => page.sessions);
  }

  /**
   * Deletes expired sessions, at most 1,000 per call. A user or app that `options` leaves empty is the client's, as in
   * `sessions`. The server also deletes them automatically. If `more` is set in the response, call again.
   */
  async deleteExpiredSessions(options: ExpiredSessionsOptions = {}): Promise<DeleteExpiredSessionsResponse> {
    return this.service(SessionService).deleteExpiredSessions(narrowed(this, options, options), options);
  }

  /**
   * Searches events, archived ones included, in `session`, in `scope`, or in all sessions of the client's user and app. The
   * query has at most 1,024 characters. A user or app that the scope leaves empty is the client's, unless `allUsers` or
   * `allApps` is set. Without `mode`, the server chooses how to search (SearchMode.AUTO). Hits come best first, take as many as
   * you need; with SearchMode.SUBSTRING oldest first. Reasons: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, EMBEDDER_NOT_CONFIGURED,
   * EMBEDDER_FAILED.
   */
  search(query: string, options: SearchOptions = {}): AsyncGenerator<SearchHit, void> {
    const { session } = options;
    const scope = session === undefined ? searched(this, options.scope, options) : ({ case: "session", value: this.ref(session) } as const);
    const request = { ...options, query, scope };
    const fetch = (pageToken: string) => this.service(SearchService).searchEvents({ ...request, pageToken }, options);
    return paged(fetch, (page) => page.hits);
  }

  /**
   * Returns a handle on the long-term memory of a user in an app, without a call. Fields that `scope` leaves out are the
   * client's; an app of "" means no app.
   */
  memory(scope: MessageInitShape<typeof MemoryScopeSchema> = {}): UserMemory {
    return new UserMemory(this, { app: scope.app ?? this.app, userId: scope.userId || this.userId });
  }

  /** Iterates over the compactions of a session, newest first. Reasons: SESSION_NOT_FOUND. */
  compactions(session: SessionLike, options: CompactionsOptions = {}): AsyncGenerator<Compaction, void> {
    const request = { ...options, session: this.ref(session) };
    const fetch = (pageToken: string) => this.service(compaction.CompactionService).listCompactions({ ...request, pageToken }, options);
    return paged(fetch, (page) => page.compactions);
  }

  /**
   * Returns the context of an agent: the SYSTEM event, the summaries, then whole turns of the active window. `spec` narrows it;
   * by default it is the window within the size of the session or the server. An unknown session returns an empty context.
   */
  async context(session: SessionLike, spec?: MessageInitShape<typeof ContextSpecSchema>, options?: CallOptions): Promise<events.GetContextResponse> {
    return this.service(events.EventService).getContext({ session: this.ref(session), spec }, options);
  }

  /**
   * Compacts a session on the server, which archives events and inserts summaries or stubs. Nothing is deleted, and having
   * nothing to compact is not an error. A summary takes as long as the server's model; set a matching timeout. Reasons:
   * SESSION_NOT_FOUND, SUMMARIZER_NOT_CONFIGURED, SUMMARIZER_FAILED, VERSION_MISMATCH.
   */
  async compact(session: SessionLike, options: CompactOptions = {}): Promise<compaction.CompactSessionResponse> {
    return this.service(compaction.CompactionService).compactSession({ ...options, session: this.ref(session) }, options);
  }

  /**
   * Replaces the events of a context with a summary or other events. Only events of `seen` are archived; events that its size
   * or filters left out and events appended since stay in the window. Nothing is deleted.
   *
   * `seen` is the response of `context`. A text becomes a turn of two events, like the server's summaries; other events are
   * marked as synthetic. Throws TypeError for a blank summary. Reasons: NOTHING_TO_COMPACT, before a call, if no event of
   * `seen` may be archived (`seen.compactableThroughSeq` is 0n); SESSION_NOT_FOUND; VERSION_MISMATCH after another compaction:
   * read the context again.
   */
  async compactContext(
    session: SessionLike,
    seen: events.GetContextResponse,
    summary: string | readonly EventInit[],
    options: CompactContextOptions = {},
  ): Promise<compaction.ApplyCompactionResponse> {
    const { compactableThroughSeq: throughSeq, firstSeq: fromSeq, windowVersion: expectedWindowVersion } = seen;
    if (throughSeq === 0n) {
      const message = "no event of this context may be archived: it is empty, or its spec left out the first events";
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
   * Compacts with the caller's model: plans, calls `summarize` with the prompt if there is one, and applies the plan. Returns
   * undefined if there is nothing to compact. If another compaction is committed first, it plans again, without calling
   * `summarize` twice for the same prompt. The timeout applies to each call to the server. Throws TypeError for a blank
   * summary, and any error of `summarize`; the session is then unchanged. Reasons: SESSION_NOT_FOUND, and VERSION_MISMATCH
   * after five lost races.
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
   * Watches the changes of one session, which need not exist yet, or of all sessions of a scope. A user or app that a scope
   * leaves empty is the client's, unless `allUsers` or `allApps` is set: `client.watch({ scope: {}, allUsers: true })`. Each
   * change is delivered once, in order; an append is one change. Store the `resumeToken` of a change after handling it; a watch
   * with that token and the same scope and filter resumes after it.
   *
   * A watch has no deadline. If the server is unavailable or silent for 30 seconds, the stream is reopened where it stopped,
   * after a pause of up to 0.1 seconds that doubles up to 5 seconds, at most `maxRetries` consecutive times; any message resets
   * the count. Leaving the loop ends the call. Throws TypeError if `afterSeq` is set for a scope. Reasons: SESSION_NOT_FOUND
   * and AMBIGUOUS_SESSION for a session without a user, INVALID_RESUME_TOKEN, QUOTA_EXCEEDED, and RESUME_POSITION_EXPIRED if
   * the feed no longer has the next changes; changes were then missed, so read the sessions again before starting at its
   * `oldest_resume_token`.
   */
  watch(whose: SessionLike | ({ scope: MessageInitShape<typeof ChangeScopeSchema> } & Reach), options: WatchOptions = {}): AsyncGenerator<Change, void> {
    const isScope = typeof whose === "object" && "scope" in whose;
    const followed = isScope ? { scope: narrowed(this, whose.scope, whose) } : { session: this.ref(whose) };
    const open = opener(this.service(SubscriptionService), followed, options);
    return follow(open, options, { address: this.address, closed: this.#closing.signal });
  }
}

/** Throws TypeError for a blank summary. */
function requireSummary(summary: string | undefined): asserts summary is string {
  if (!summary?.trim()) throw new TypeError("the summary is blank; the session is unchanged");
}

/** Sets the model's text in the event that the plan leaves empty. */
function complete({ inserts }: CompactionPlan, summary: string): void {
  for (const { message } of inserts.flatMap((insert) => insert.events)) {
    const content = message?.parts.length === 1 ? message.parts[0]!.content : undefined;
    if (message?.role === Role.ASSISTANT && content?.case === "text" && !content.value) content.value = summary;
  }
}

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";

import { Backoff } from "./backoff.js";
import { completed } from "./compaction.js";
import { int64, sessionRef, type SessionLike } from "./convert.js";
import { isReason } from "./errors.js";
import type { Compaction } from "./gen/recollect/v1/compaction_pb.js";
import type { ApplyCompactionResponse, CompactSessionResponse } from "./gen/recollect/v1/compaction_service_pb.js";
import type { ContextSpecSchema } from "./gen/recollect/v1/context_pb.js";
import type { SessionEvent } from "./gen/recollect/v1/event_pb.js";
import { IfExists, type AppendEventsResponse, type GetContextResponse } from "./gen/recollect/v1/event_service_pb.js";
import type { SearchHit } from "./gen/recollect/v1/recall_service_pb.js";
import type { Session, SessionRef } from "./gen/recollect/v1/session_pb.js";
import type { Change } from "./gen/recollect/v1/subscription_pb.js";
import { newEventId, withIds, type EventInit } from "./messages.js";
import type * as opts from "./options.js";
import { paged } from "./paging.js";
import { servicesOn, type Services } from "./services.js";
import type { ReliableTransport } from "./transport.js";
import { follow, watchRequest, type WatchOptions } from "./watch.js";

/**
 * A client of one server; share one, and close it. Make it with `connect`.
 *
 * A `session` argument is an id, which the client's app and user complete, or a SessionRef or Session. Calls that are safe to
 * repeat are sent up to five times while the server is unavailable. Every method may fail with a RecollectError of code
 * Unavailable or DeadlineExceeded, or of reason UNAUTHENTICATED, PERMISSION_DENIED, INVALID_FIELD, STORE_UNAVAILABLE, SERVER_DRAINING,
 * RATE_LIMITED or INTERNAL; further reasons are named with the method. Arguments that no request could hold are a TypeError or RangeError.
 */
export class Client {
  /** What completes a session's id. */
  readonly app: string;
  /** See `app`. */
  readonly userId: string;
  /** Every RPC of the server. */
  readonly services: Services;
  /** What the services are called through, for clients of one's own. */
  readonly transport: Transport;

  /** @internal Use `connect`. */
  constructor(
    /** The server's. */
    readonly address: string,
    private readonly reliable: ReliableTransport,
    private readonly disconnect: () => void,
    { app = "", userId = "" }: opts.ClientOptions,
  ) {
    this.app = app;
    this.userId = userId;
    this.transport = reliable;
    this.services = servicesOn(reliable);
  }

  /** Ends the connection. Calls and watches under way fail with code Canceled, and so do later ones. Closing twice does nothing. */
  close(): void {
    if (this.reliable.closed.aborted) return;
    this.reliable.close();
    this.disconnect();
  }

  /** The reference to a session, as `services` need it. */
  ref(session: SessionLike): SessionRef {
    return sessionRef(session, this.app, this.userId);
  }

  /**
   * Appends events, all or none; when it resolves they are on durable storage.
   *
   * Events without an id get one before they are sent, in a copy, so that the client's own retries store nothing twice. To retry
   * across errors yourself, append the same `withIds(...)` again. Reasons: SESSION_NOT_FOUND, VERSION_MISMATCH, EVENT_ID_CONFLICT,
   * EVENT_TOO_LARGE, BATCH_TOO_LARGE.
   */
  async append(session: SessionLike, events: EventInit | readonly EventInit[], options: opts.AppendOptions = {}): Promise<AppendEventsResponse> {
    const { create = false, expectedLogVersion, expectedLastEventId, ignoreExisting = false } = options;
    if (expectedLogVersion !== undefined && expectedLastEventId !== undefined) {
      throw new TypeError("give at most one of expectedLogVersion and expectedLastEventId");
    }
    return this.services.events.appendEvents(
      {
        session: this.ref(session),
        events: withIds(Array.isArray(events) ? events : [events as EventInit]),
        createIfMissing: create === true ? {} : create || undefined,
        ifExists: ignoreExisting ? IfExists.IGNORE : IfExists.UNSPECIFIED,
        precondition:
          expectedLogVersion !== undefined
            ? { case: "expectedLogVersion", value: int64(expectedLogVersion, "expectedLogVersion") }
            : expectedLastEventId !== undefined
              ? { case: "expectedLastEventId", value: expectedLastEventId }
              : undefined,
      },
      callOptions(options),
    );
  }

  /** The session's events that match; an unknown session has none. Reasons: AMBIGUOUS_SESSION. */
  events(session: SessionLike, options: opts.EventsOptions = {}): AsyncGenerator<SessionEvent, void> {
    const { filter, order, pageSize } = options;
    const request = { session: this.ref(session), filter, order, pageSize };
    return paged(
      (pageToken) => this.services.events.listEvents({ ...request, pageToken }, callOptions(options)),
      (page) => page.events,
    );
  }

  /** Sessions, newest first. */
  sessions(options: opts.SessionsOptions = {}): AsyncGenerator<Session, void> {
    const request = { ...this.#scope(options), pageSize: options.pageSize };
    return paged(
      (pageToken) => this.services.sessions.listSessions({ ...request, pageToken }, callOptions(options)),
      (page) => page.sessions,
    );
  }

  /** Events whose text holds `query`, at most 1,024 characters, oldest first, archived ones too. Reasons: SESSION_NOT_FOUND, AMBIGUOUS_SESSION. */
  search(query: string, options: opts.SearchOptions = {}): AsyncGenerator<SearchHit, void> {
    const { session, userId, app, filter, mode, pageSize } = options;
    if (session !== undefined && (userId !== undefined || app !== undefined)) {
      throw new TypeError("give either session, or userId and app");
    }
    const scope =
      session !== undefined
        ? ({ case: "session", value: this.ref(session) } as const)
        : ({ case: "user", value: this.#scope({ userId, app }) } as const);
    const request = { scope, query, filter, mode, pageSize };
    return paged(
      (pageToken) => this.services.recall.searchEvents({ ...request, pageToken }, callOptions(options)),
      (page) => page.hits,
    );
  }

  /** The records of a session's compactions, newest first. Reasons: SESSION_NOT_FOUND. */
  compactions(session: SessionLike, options: opts.PageOptions = {}): AsyncGenerator<Compaction, void> {
    const request = { session: this.ref(session), pageSize: options.pageSize };
    return paged(
      (pageToken) => this.services.compaction.listCompactions({ ...request, pageToken }, callOptions(options)),
      (page) => page.compactions,
    );
  }

  /**
   * What an agent should see now: the SYSTEM event, the summaries, then whole turns of the active window. `spec` narrows it; by
   * default it is the window within the session's or the server's size. An unknown session gives an empty one.
   */
  async context(session: SessionLike, spec?: MessageInitShape<typeof ContextSpecSchema>, options: opts.CallOptions = {}): Promise<GetContextResponse> {
    return this.services.events.getContext({ session: this.ref(session), spec }, callOptions(options));
  }

  /**
   * Has the server compact a session: archive events, and insert summaries or stubs. Nothing is deleted, and nothing to do is no
   * error. A summary takes as long as the server's model: give it a timeout. Reasons: SESSION_NOT_FOUND, SUMMARIZER_NOT_CONFIGURED,
   * SUMMARIZER_FAILED, VERSION_MISMATCH.
   */
  async compact(session: SessionLike, options: opts.CompactOptions = {}): Promise<CompactSessionResponse> {
    const { strategy, trigger, branch, dryRun, actor } = options;
    const request = { session: this.ref(session), strategy, trigger, branch, dryRun, actor };
    return this.services.compaction.compactSession(request, callOptions(options));
  }

  /**
   * Compacts with a model of the caller's: plans, has `summarise` answer the prompt if there is one, applies. Undefined: nothing
   * to do. When another compaction was faster it plans anew, and does not ask again for the same prompt. The timeout is that of
   * each call to the server. A blank answer is a TypeError, and what `summarise` throws is thrown; the session is then as it was.
   * Reasons: SESSION_NOT_FOUND, and VERSION_MISMATCH when every race was lost.
   */
  async compactWith(session: SessionLike, summarise: opts.Summarise, options: opts.CompactWithOptions = {}): Promise<ApplyCompactionResponse | undefined> {
    const { strategy, branch, actor, attempts = 5 } = options;
    if (!(attempts >= 1)) throw new RangeError("attempts must be at least 1");
    const ref = this.ref(session);
    const answers = new Map<string, string>();
    for (let attempt = 1; ; attempt++) {
      const { plan, windowVersion } = await this.services.compaction.planCompaction({ session: ref, strategy, branch }, callOptions(options));
      if (!plan || (plan.archiveEventIds.length === 0 && plan.inserts.length === 0)) return undefined;
      let inserts = plan.inserts;
      if (plan.summaryPrompt !== undefined) {
        const { digest } = plan.summaryPrompt;
        const summary = answers.get(digest) ?? (await summarise(plan.summaryPrompt));
        if (typeof summary !== "string" || !summary.trim()) throw new TypeError("the summary is blank; the session is as it was");
        answers.set(digest, summary);
        inserts = completed(plan, summary);
      }
      const request = {
        session: ref,
        compactionId: newEventId(),
        expectedWindowVersion: windowVersion,
        archive: { case: "eventIds", value: { ids: plan.archiveEventIds } } as const,
        inserts,
        branch: plan.branch,
        strategy: plan.strategy,
        actor,
      };
      try {
        return await this.services.compaction.applyCompaction(request, callOptions(options));
      } catch (error) {
        if (!isReason(error, "VERSION_MISMATCH") || attempt >= attempts) throw error;
      }
    }
  }

  /**
   * Follows every change of one session, which need not exist yet, or of all sessions of a scope: in order, each once, an append as
   * a whole. Keep a change's `resumeToken` once it is handled: a watch with it and the same scope and filter goes on after it.
   *
   * It has no deadline. When the server is unavailable or silent for 30 seconds the stream is opened again where it stood, after a
   * pause of up to 0.1 seconds that doubles up to 5, `maxRetries` times in a row; any message begins a new row. Leaving the loop
   * ends the call. Reasons: SESSION_NOT_FOUND and AMBIGUOUS_SESSION for a session without user, INVALID_RESUME_TOKEN,
   * QUOTA_EXCEEDED, and RESUME_POSITION_EXPIRED when the feed no longer holds what comes next: then changes were missed, so read
   * the sessions again before you start at its `oldest_resume_token`.
   */
  watch(whose: SessionLike | { scope: opts.Scope }, options: WatchOptions = {}): AsyncIterableIterator<Change> {
    const { checkpoints = false, maxRetries, signal } = options;
    if (maxRetries !== undefined && !(maxRetries >= 0)) throw new RangeError("maxRetries must be at least 0");
    const isScope = typeof whose === "object" && "scope" in whose;
    const request = watchRequest(isScope ? { scope: this.#scope(whose.scope) } : { session: this.ref(whose) }, options);
    const { subscriptions } = this.services;
    return follow({
      open: (of, call) => (of.$typeName === "recollect.v1.WatchAllRequest" ? subscriptions.watchAll(of, call) : subscriptions.watchSession(of, call)),
      request,
      checkpoints,
      backoff: new Backoff(maxRetries),
      signals: [signal, this.reliable.closed],
      address: this.address,
    });
  }

  #scope({ userId = this.userId, app = this.app || undefined, labels }: opts.Scope) {
    return { userId, app, labels };
  }
}

function callOptions({ timeoutMs, signal }: opts.CallOptions): opts.CallOptions {
  return { timeoutMs, signal };
}

import { create } from "@bufbuild/protobuf";
import type { CallOptions } from "@connectrpc/connect";

import * as compacting from "./compaction/compaction.js";
import { appendRequest, asOfOf, listEvents, withIds, type Appended, type AppendOptions, type EventsQuery, type Moment } from "./events.js";
import { appendStream, dropped, type AppendStreamOptions, type Batch, type BatchResult } from "./feed/appendStream.js";
import { follow, sessionOpener, type WatchCall, type WatchOptions } from "./feed/watch.js";
import type { Compaction } from "./gen/threadkeep/v1/compaction_pb.js";
import * as compaction from "./gen/threadkeep/v1/compaction_service_pb.js";
import type { SessionEvent } from "./gen/threadkeep/v1/event_pb.js";
import * as events from "./gen/threadkeep/v1/event_service_pb.js";
import type { SearchEventsResponse, SearchHit } from "./gen/threadkeep/v1/search_service_pb.js";
import type { Session, SessionRef } from "./gen/threadkeep/v1/session_pb.js";
import { SessionService, type CreateSessionResponse, type DeleteSessionResponse } from "./gen/threadkeep/v1/session_service_pb.js";
import type { Change } from "./gen/threadkeep/v1/subscription_pb.js";
import { SubscriptionService } from "./gen/threadkeep/v1/subscription_service_pb.js";
import { ToolService, type CallToolResponse } from "./gen/threadkeep/v1/tool_service_pb.js";
import type { EventInit } from "./messages.js";
import { paged } from "./pages.js";
import { PolicyHandle } from "./compaction/policies.js";
import { specOf, type MemoryProvider, type SpecLike } from "./provider.js";
import { jsonText, type Caller, type Json, type PageOptions } from "./requests.js";
import { searchEvents, type SessionSearchOptions } from "./search.js";
import { createSession, getSession, updateSession, type CreateOptions, type SessionChanges } from "./sessions.js";

/**
 * A handle on one session, which need not exist. Get it from `client.session`; it makes no call and needs no closing. In
 * addition to the reasons that methods document, see `Client` for those of every call.
 */
export class SessionHandle {
  /** @internal Use `Client.session`. */
  constructor(
    private readonly caller: Caller,
    /** The complete reference of the session, for requests of the generated clients. */
    readonly ref: SessionRef,
    private readonly memory?: MemoryProvider,
  ) {}

  /** Id of the session. */
  get id(): string {
    return this.ref.sessionId;
  }

  /**
   * Returns a handle on the same session that reads and writes as the provider says: `getContext` without a spec returns its
   * context, and if it does not write, `append` and `appendStream` send nothing and set `dropped` in their results.
   */
  withMemory(provider: MemoryProvider): SessionHandle {
    return new SessionHandle(this.caller, this.ref, provider);
  }

  /**
   * Creates the session. The response has `created`, false if it existed and `returnExisting` is set. With an empty id the
   * server generates one: see `session.ref` of the response. Reasons: SESSION_ALREADY_EXISTS.
   */
  create(options: CreateOptions = {}, call?: CallOptions): Promise<CreateSessionResponse> {
    return createSession(this.caller, this.ref, options, call);
  }

  /** Returns metadata and counters of the session. Reasons: SESSION_NOT_FOUND, AMBIGUOUS_SESSION. */
  get(call?: CallOptions): Promise<Session> {
    return getSession(this.caller, this.ref, call);
  }

  /** Changes what is given and returns the session. Reasons: SESSION_NOT_FOUND, VERSION_MISMATCH for a stale `etag`. */
  update(changes: SessionChanges, call?: CallOptions): Promise<Session> {
    return updateSession(this.caller, this.ref, changes, call);
  }

  /** Deletes the session and its events; `purgeMemories` deletes the memories that came from it too. */
  delete(options: { purgeMemories?: boolean | undefined } = {}, call?: CallOptions): Promise<DeleteSessionResponse> {
    return this.caller.raw(SessionService).deleteSession({ session: this.ref, purgeMemories: options.purgeMemories }, call);
  }

  /**
   * Appends events, all or none. When it resolves, they are on durable storage.
   *
   * Events without an id get one in a copy before they are sent, so that the client's retries store nothing twice. To retry
   * after errors yourself, append the same `withIds(events)` again. Reasons: SESSION_NOT_FOUND, VERSION_MISMATCH,
   * EVENT_ID_CONFLICT, EVENT_TOO_LARGE, BATCH_TOO_LARGE.
   */
  async append(given: EventInit | readonly EventInit[], options: AppendOptions = {}, call?: CallOptions): Promise<Appended> {
    if (this.memory?.writes === false) {
      this.#sayDropped();
      return Object.assign(create(events.AppendEventsResponseSchema), { dropped: true });
    }
    const request = appendRequest(this.ref, given, options);
    return Object.assign(await this.caller.raw(events.EventService).appendEvents(request, call), { dropped: false });
  }

  /**
   * Appends batch after batch without waiting for each result; see `Client.appendStream`. A batch is one event or an array,
   * appended all or none.
   */
  appendStream(
    batches: Iterable<EventInit | readonly EventInit[]> | AsyncIterable<EventInit | readonly EventInit[]>,
    options: AppendStreamOptions & AppendOptions = {},
    call?: CallOptions,
  ): AsyncGenerator<BatchResult, void> {
    if (this.memory?.writes === false) {
      this.#sayDropped();
      return dropped(batches);
    }
    const { maxOutstanding, ...append } = options;
    return appendStream(this.caller, batchesOf(this.ref, batches, append), { maxOutstanding }, call);
  }

  /** Returns one event by its id. Reasons: SESSION_NOT_FOUND, EVENT_NOT_FOUND. */
  async getEvent(eventId: string, call?: CallOptions): Promise<SessionEvent> {
    return (await this.caller.raw(events.EventService).getEvent({ session: this.ref, eventId }, call)).event!;
  }

  /** Iterates over the matching events, page by page. An unknown session has none. Reasons: AMBIGUOUS_SESSION. */
  events(query: EventsQuery = {}, call?: CallOptions): AsyncGenerator<SessionEvent, void> {
    return paged((pageToken) => this.eventsPage({ ...query, pageToken }, call), (page) => page.events);
  }

  /** Returns one page of `events` with its `nextPageToken`, and the log version at the time of the read. */
  eventsPage(query: EventsQuery = {}, call?: CallOptions): Promise<events.ListEventsResponse> {
    return listEvents(this.caller, this.ref, query, call);
  }

  /**
   * Returns the context of an agent: the SYSTEM event, the summaries, then whole turns of the active window. The spec, a
   * MemoryProvider or the fields of a ContextSpec, narrows it; by default it is that of `withMemory`, else the window within
   * the size of the session or the server. The context of an unknown session is empty.
   */
  getContext(spec: SpecLike | undefined = this.memory, call?: CallOptions): Promise<events.GetContextResponse> {
    return this.caller.raw(events.EventService).getContext({ session: this.ref, spec: specOf(spec) }, call);
  }

  /**
   * Returns the context that `getContext` with this spec returned at a moment: `getContextAsOf({ logVersion: 3 })`. It never
   * changes. Reasons: HISTORY_UNKNOWN.
   */
  getContextAsOf(asOf: Moment, spec: SpecLike | undefined = this.memory, call?: CallOptions): Promise<events.GetContextResponse> {
    return this.caller.raw(events.EventService).getContext({ session: this.ref, spec: specOf(spec), asOf: asOfOf(asOf) }, call);
  }

  /**
   * Replaces the active window by these events, unless the log changed since `expect.logVersion`. Active events among them,
   * unchanged and in their order, stay; other active events are archived; new ones are inserted. `replaced` is false after a
   * mismatch. Reasons: SESSION_NOT_FOUND, BROKEN_TOOL_PAIR, EVENT_ID_CONFLICT.
   */
  replaceEvents(given: EventInit | readonly EventInit[], options: compacting.ReplaceOptions, call?: CallOptions): Promise<compaction.ReplaceEventsResponse> {
    const { expect, ...rest } = options;
    const request = { ...rest, session: this.ref, events: withIds(given), expectedLogVersion: BigInt(expect.logVersion) };
    return this.caller.raw(compaction.CompactionService).replaceEvents(request, call);
  }

  /**
   * Watches the changes of the session, which need not exist yet: `for await (const change of trip.watch())`. Each change is
   * delivered once, in order; an append is one change. Store the `resumeToken` of a change after handling it; a watch from
   * that token with the same filter resumes after it.
   *
   * A watch has no deadline. If the server is unavailable or silent for 30 seconds, the stream is reopened where it stopped,
   * after a pause of up to 0.1 seconds that doubles up to 5 seconds, at most `maxRetries` consecutive times; any message
   * resets the count. Leaving the loop ends the call. Reasons: SESSION_NOT_FOUND and AMBIGUOUS_SESSION for a session without
   * a user, INVALID_RESUME_TOKEN, QUOTA_EXCEEDED, and RESUME_POSITION_EXPIRED if the feed no longer has the next changes;
   * changes were then missed, so read the session again before starting at its `oldest_resume_token`.
   */
  watch(options: WatchOptions = {}, call: WatchCall = {}): AsyncGenerator<Change, void> {
    return follow(sessionOpener(this.caller.raw(SubscriptionService), this.ref, options), options, call, this.caller);
  }

  /** Searches the events of the session, archived ones included; see `Client.search`. Reasons: SESSION_NOT_FOUND. */
  search(query: string, options: SessionSearchOptions = {}, call?: CallOptions): AsyncGenerator<SearchHit, void> {
    return paged((pageToken) => this.searchPage(query, { ...options, pageToken }, call), (page) => page.hits);
  }

  /** Returns one page of `search`, with the mode that was used. */
  searchPage(query: string, options: SessionSearchOptions = {}, call?: CallOptions): Promise<SearchEventsResponse> {
    return searchEvents(this.caller, this.ref, query, options, call);
  }

  /**
   * Compacts the session on the server, which archives events and inserts summaries or stubs. Nothing is deleted, and having
   * nothing to compact is not an error. A summary takes as long as the server's model; set a matching timeout. Reasons:
   * SESSION_NOT_FOUND, SUMMARIZER_NOT_CONFIGURED, SUMMARIZER_FAILED, VERSION_MISMATCH.
   */
  compact(options: compacting.CompactOptions = {}, call?: CallOptions): Promise<compaction.CompactSessionResponse> {
    return this.caller.raw(compaction.CompactionService).compactSession({ ...options, session: this.ref }, call);
  }

  /**
   * Compacts with the caller's model: plans, calls `summarize` with the prompt if there is one, and applies the plan. Returns
   * undefined if there is nothing to compact. If another compaction is committed first, it plans again, without calling
   * `summarize` twice for the same prompt. The timeout applies to each call to the server. Throws TypeError for a blank
   * summary, and any error of `summarize`; the session is then unchanged. Reasons: SESSION_NOT_FOUND, and VERSION_MISMATCH
   * after five lost races.
   */
  compactWith(
    summarize: compacting.Summarize,
    options: compacting.CompactWithOptions = {},
    call?: CallOptions,
  ): Promise<compaction.ApplyCompactionResponse | undefined> {
    return compacting.compactWith(this.caller, this.ref, summarize, options, call);
  }

  /**
   * Replaces the events of a context with a summary or other events. Only events of `seen` are archived; events that its size
   * or filters left out and events appended since stay in the window. Nothing is deleted.
   *
   * `seen` is the response of `getContext`. A text becomes a turn of two events, like the server's summaries; other events are
   * marked as synthetic. Throws TypeError for a blank summary. Reasons: NOTHING_TO_COMPACT, before a call, if no event of
   * `seen` may be archived (`seen.compactableThroughSeq` is 0n); SESSION_NOT_FOUND; VERSION_MISMATCH after another compaction:
   * read the context again.
   */
  compactContext(
    seen: events.GetContextResponse,
    summary: string | readonly EventInit[],
    options: compacting.ApplyOptions = {},
    call?: CallOptions,
  ): Promise<compaction.ApplyCompactionResponse> {
    return compacting.replaceContext(this.caller, this.ref, seen, summary, options, call);
  }

  /** Returns the changes that a strategy would make, for `applyCompaction`. Reasons: SESSION_NOT_FOUND. */
  planCompaction(options: compacting.PlanOptions = {}, call?: CallOptions): Promise<compaction.PlanCompactionResponse> {
    return this.caller.raw(compaction.CompactionService).planCompaction({ ...options, session: this.ref }, call);
  }

  /**
   * Archives and inserts what a plan says, or what is given, unless another compaction was committed since; appends do not
   * conflict. Throws TypeError if the plan requires a summary and it is blank. Reasons: SESSION_NOT_FOUND, VERSION_MISMATCH,
   * NOTHING_TO_COMPACT, BROKEN_TOOL_PAIR, EVENT_NOT_FOUND, EVENT_ID_CONFLICT.
   */
  applyCompaction(
    given: compacting.Compacting,
    options: compacting.ApplyOptions = {},
    call?: CallOptions,
  ): Promise<compaction.ApplyCompactionResponse> {
    return compacting.apply(this.caller, this.ref, given, options, call);
  }

  /** Iterates over the compactions of the session, newest first. Reasons: SESSION_NOT_FOUND. */
  compactions(query: PageOptions = {}, call?: CallOptions): AsyncGenerator<Compaction, void> {
    return paged((pageToken) => this.compactionsPage({ ...query, pageToken }, call), (page) => page.compactions);
  }

  /** Returns one page of `compactions`. */
  compactionsPage(query: PageOptions = {}, call?: CallOptions): Promise<compaction.ListCompactionsResponse> {
    return this.caller.raw(compaction.CompactionService).listCompactions({ ...query, session: this.ref }, call);
  }

  /** Returns a handle on the compaction policy of the session. */
  policy(): PolicyHandle {
    return new PolicyHandle(this.caller, { kind: { case: "session", value: this.ref } });
  }

  /**
   * Runs a recall tool for the session and its user; see `client.tools`. The arguments are those of the model, as JSON text or
   * a value. Errors of the model are a result with `isError`. Reasons: MEMORY_NOT_CONFIGURED, SESSION_NOT_FOUND.
   */
  callTool(name: string, args: Json = {}, call?: CallOptions): Promise<CallToolResponse> {
    return this.caller.raw(ToolService).callTool({ session: this.ref, name, argumentsJson: jsonText(args) }, call);
  }

  #sayDropped(): void {
    this.caller.logger?.debug(`threadkeep: an append to ${this.id} is dropped, because its memory provider does not write`);
  }
}

async function* batchesOf(
  session: SessionRef,
  batches: Iterable<Batch["events"]> | AsyncIterable<Batch["events"]>,
  options: AppendOptions,
): AsyncGenerator<Batch, void> {
  for await (const given of batches) yield { ...options, session, events: given };
}

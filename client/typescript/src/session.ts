import { create } from "@bufbuild/protobuf";
import type { CallOptions } from "@connectrpc/connect";

import * as compacting from "./compaction/compaction.js";
import {
  appendRequest, asOfOf, erasedOf, listEvents, listUsage, loadSession, removalOf, versionOf, withIds,
  type Appended, type AppendOptions, type ErasedEvents, type EventsQuery, type LoadOptions, type Moment, type PopOptions, type RemovalOptions,
  type RewindOptions, type SuffixOptions, type UsageQuery,
} from "./events.js";
import { appendStream, dropped, type AppendStreamOptions, type Batch, type BatchResult } from "./feed/appendStream.js";
import { follow, sessionOpener, type WatchCall, type WatchOptions } from "./feed/watch.js";
import type { Compaction } from "./gen/threadkeep/v1/compaction_pb.js";
import * as compaction from "./gen/threadkeep/v1/compaction_service_pb.js";
import type { SessionEvent } from "./gen/threadkeep/v1/event_pb.js";
import type { ClearEventsResponse, EraseEventsResponse, PopEventsResponse, RewindSessionResponse } from "./gen/threadkeep/v1/event_removal_pb.js";
import * as events from "./gen/threadkeep/v1/event_service_pb.js";
import type { SearchEventsResponse, SearchHit } from "./gen/threadkeep/v1/search_service_pb.js";
import type { Session, SessionRef } from "./gen/threadkeep/v1/session_pb.js";
import { SessionService, type CreateSessionResponse, type DeleteSessionResponse, type ForkSessionResponse, type MoveSessionResponse } from "./gen/threadkeep/v1/session_service_pb.js";
import { StateScope } from "./gen/threadkeep/v1/state_pb.js";
import type { Change } from "./gen/threadkeep/v1/subscription_pb.js";
import { SubscriptionService } from "./gen/threadkeep/v1/subscription_service_pb.js";
import { ToolService, type CallToolResponse } from "./gen/threadkeep/v1/tool_service_pb.js";
import type { EventInit } from "./messages.js";
import { paged } from "./pages.js";
import { PolicyHandle } from "./compaction/policies.js";
import { specOf, type MemoryProvider, type SpecLike } from "./provider.js";
import { jsonText, pointOf, type Caller, type Json, type PageOptions, type Point } from "./requests.js";
import { searchEvents, type SessionSearchOptions } from "./search.js";
import { createSession, forkSession, getSession, moveSession, updateSession, type CreateOptions, type ForkOptions, type MoveOptions, type SessionChanges } from "./sessions.js";
import { StateHandle } from "./state.js";

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

  /**
   * Returns the session, its state, and a page of its events or a context, all as of one moment: `load({ context: true })`.
   * `eventsPage` continues with the page's token. Reasons: SESSION_NOT_FOUND, AMBIGUOUS_SESSION.
   */
  load(options: LoadOptions = {}, call?: CallOptions): Promise<events.LoadSessionResponse> {
    return loadSession(this.caller, this.ref, options, call);
  }

  /** Changes what is given and returns the session. Reasons: SESSION_NOT_FOUND, VERSION_MISMATCH for a stale `etag`. */
  update(changes: SessionChanges, call?: CallOptions): Promise<Session> {
    return updateSession(this.caller, this.ref, changes, call);
  }

  /**
   * Creates a session that is a copy of this one, of the same user: as it is, or as of a point. Without an id the server generates
   * one: see `session.ref` of the response.
   *
   * The copy has the events up to the point, archived ones included, with their ids, seqs and times, and the window, the
   * compactions and the session's state of then. Its `parent` names this session. Writers continue while it is copied. Reasons:
   * SESSION_NOT_FOUND, EVENT_NOT_FOUND, SESSION_ALREADY_EXISTS, HISTORY_UNKNOWN, OPERATION_CONFLICT, QUOTA_EXCEEDED.
   *
   * @example
   * const { session } = await trip.fork("trip-again", { at: { seq: 12 }, labels: { kind: "retry" } });
   */
  fork(newSessionId = "", options: ForkOptions = {}, call?: CallOptions): Promise<ForkSessionResponse> {
    return forkSession(this.caller, this.ref, newSessionId, options, call);
  }

  /** Deletes the session, with `purgeMemories` also memories from it and its archives; with `uid` only that one. Reason: VERSION_MISMATCH (of the uid). */
  delete(options: { purgeMemories?: boolean | undefined; uid?: string | undefined } = {}, call?: CallOptions): Promise<DeleteSessionResponse> {
    return this.caller.raw(SessionService).deleteSession({ session: this.ref, ...options }, call);
  }

  /**
   * Appends events, all or none. When it resolves, they are on durable storage.
   *
   * Events without an id get one in a copy before they are sent, so that the client's retries store nothing twice. To retry
   * after errors yourself, append the same `withIds(events)` again. Reasons: SESSION_NOT_FOUND, VERSION_MISMATCH,
   * EVENT_ID_CONFLICT, OPERATION_CONFLICT, EVENT_TOO_LARGE, BATCH_TOO_LARGE, STATE_TOO_LARGE.
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

  /** Iterates over the branches that have events, with their counts: the root first. Reasons: SESSION_NOT_FOUND. */
  branches(query: PageOptions = {}, call?: CallOptions): AsyncGenerator<events.Branch, void> {
    return paged((pageToken) => this.branchesPage({ ...query, pageToken }, call), (page) => page.branches);
  }

  /** Returns one page of `branches`, of at most 100. */
  branchesPage(query: PageOptions = {}, call?: CallOptions): Promise<events.ListBranchesResponse> {
    return this.caller.raw(events.EventService).listBranches({ ...query, session: this.ref }, call);
  }

  /** Iterates over the token usage by turn, invocation and branch. A turn in two pages has an entry of each. Reasons: SESSION_NOT_FOUND. */
  usage(query: UsageQuery = {}, call?: CallOptions): AsyncGenerator<events.UsageEntry, void> {
    return paged((pageToken) => this.usagePage({ ...query, pageToken }, call), (page) => page.entries);
  }

  /** Returns one page of `usage`, which may be empty and not be the last. */
  usagePage(query: UsageQuery = {}, call?: CallOptions): Promise<events.ListUsageResponse> {
    return listUsage(this.caller, this.ref, query, call);
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
   * Takes the newest events out of the window and returns them, the newest last: of concurrent calls, each event is returned to
   * one. At most 1,000; fewer are returned if the window has fewer. Reasons: SESSION_NOT_FOUND, VERSION_MISMATCH,
   * OPERATION_CONFLICT.
   */
  pop(count = 1, { branch, expect, ...rest }: PopOptions = {}, call?: CallOptions): Promise<PopEventsResponse> {
    const request = { session: this.ref, count, branch, expectedLogVersion: versionOf(expect), ...removalOf(rest) };
    return this.caller.raw(events.EventService).popEvents(request, call);
  }

  /**
   * Gives the session, with all but its memories, to another user of its app: `session.ref` of the response. Requires the role admin
   * of a credential for all users. Reasons: SESSION_NOT_FOUND, SESSION_ALREADY_EXISTS, OPERATION_CONFLICT, PERMISSION_DENIED.
   */
  move(newUserId: string, options: MoveOptions = {}, call?: CallOptions): Promise<MoveSessionResponse> {
    return moveSession(this.caller, this.ref, newUserId, options, call);
  }

  /**
   * Goes back to a point: what came after it leaves the window, what left the window since is active again unless it was erased,
   * and the session's state has the values of then. At most 10,000 events leave or come back. `erase` erases everything that came
   * after, archived or not. Reasons: SESSION_NOT_FOUND, EVENT_NOT_FOUND, VERSION_MISMATCH, HISTORY_UNKNOWN, OPERATION_CONFLICT.
   *
   * @example
   * const { removed, restored } = await trip.rewind({ eventId: "m12" }, { expect: { logVersion: 9 } });
   */
  rewind(to: Point, { expect, always, ...rest }: RewindOptions = {}, call?: CallOptions): Promise<RewindSessionResponse> {
    const request = { session: this.ref, point: pointOf(to), always, expectedLogVersion: versionOf(expect), ...removalOf(rest) };
    return this.caller.raw(events.EventService).rewindSession(request, call);
  }

  /**
   * Empties the active window. The session stays, with labels, policy and watchers; the log continues with the next seq, and a
   * writer that expects an earlier log version is refused. `erase` erases the whole log. Reasons: SESSION_NOT_FOUND,
   * VERSION_MISMATCH, OPERATION_CONFLICT.
   */
  clear({ expect, ...rest }: RemovalOptions = {}, call?: CallOptions): Promise<ClearEventsResponse> {
    const request = { session: this.ref, expectedLogVersion: versionOf(expect), ...removalOf(rest) };
    return this.caller.raw(events.EventService).clearEvents(request, call);
  }

  /**
   * Erases the content of at most 1,000 events, active or archived, in all their versions; tombstones stay, and the response has
   * a `receipt`. Of invocations or a branch, the first 1,000 are erased: while `more` is true, call again. Requires the role admin.
   * Reasons: SESSION_NOT_FOUND, EVENT_NOT_FOUND, VERSION_MISMATCH, OPERATION_CONFLICT.
   *
   * @example
   * while ((await trip.eraseEvents({ invocationIds: ["run-7"] })).more);
   */
  eraseEvents(
    which: ErasedEvents,
    { expect, operationId }: Omit<RemovalOptions, "erase"> = {},
    call?: CallOptions,
  ): Promise<EraseEventsResponse> {
    const removal = { operationId: removalOf({ operationId }).operationId, expectedLogVersion: versionOf(expect) };
    return this.caller.raw(events.EventService).eraseEvents({ session: this.ref, ...erasedOf(which), ...removal }, call);
  }

  /**
   * Replaces the newest events of the window if their ids are exactly `expected`, oldest first; otherwise nothing changes.
   * Without `expected` ids the events are appended. An event may have the id of a removed one. Reasons: SESSION_NOT_FOUND,
   * VERSION_MISMATCH for another suffix, EVENT_ID_CONFLICT, OPERATION_CONFLICT, EVENT_TOO_LARGE, BATCH_TOO_LARGE.
   */
  replaceSuffix(
    expected: readonly string[],
    given: EventInit | readonly EventInit[],
    { branch, ...rest }: SuffixOptions = {},
    call?: CallOptions,
  ): Promise<events.ReplaceSuffixResponse> {
    const request = { session: this.ref, expectedEventIds: [...expected], events: withIds(given), branch, ...removalOf(rest) };
    return this.caller.raw(events.EventService).replaceSuffix(request, call);
  }

  /** Returns a handle on the state of the session. */
  state(): StateHandle {
    return new StateHandle(this.caller, StateScope.SESSION, this.ref);
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

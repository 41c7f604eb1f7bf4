/// <reference lib="esnext.disposable" preserve="true" />
import { create, type DescService } from "@bufbuild/protobuf";
import { createClient, type CallOptions, type Client as ServiceClient, Code, type Transport } from "@connectrpc/connect";

import { listAuditRecords, type AuditQuery } from "./server/audit.js";
import { RetentionHandle } from "./server/retention.js";
import { ConsumerHandle } from "./consumer.js";
import { listUserEvents, type UserEventsQuery } from "./events.js";
import { appendStream, type AppendStreamOptions, type Batch, type BatchResult } from "./feed/appendStream.js";
import { follow, scopeOpener, type WatchAllOptions, type WatchCall } from "./feed/watch.js";
import type { Consumer } from "./gen/threadkeep/v1/consumer_pb.js";
import { ConsumerService, type ListConsumersResponse } from "./gen/threadkeep/v1/consumer_service_pb.js";
import type { ErasureReceipt } from "./gen/threadkeep/v1/erasure_pb.js";
import type { ListUserEventsResponse, UserEvent } from "./gen/threadkeep/v1/event_service_pb.js";
import { MemoryScopeSchema } from "./gen/threadkeep/v1/memory_pb.js";
import type { SearchEventsResponse, SearchHit } from "./gen/threadkeep/v1/search_service_pb.js";
import { ServerService, type AuditRecord, type GetServerInfoResponse, type ListAuditRecordsResponse } from "./gen/threadkeep/v1/server_service_pb.js";
import { SessionRefSchema, type Session } from "./gen/threadkeep/v1/session_pb.js";
import {
  SessionService, type DeleteExpiredSessionsResponse, type ListSessionsResponse, type ListUsersResponse, type UserRef,
} from "./gen/threadkeep/v1/session_service_pb.js";
import { StateScope } from "./gen/threadkeep/v1/state_pb.js";
import type { Change } from "./gen/threadkeep/v1/subscription_pb.js";
import { SubscriptionService } from "./gen/threadkeep/v1/subscription_service_pb.js";
import { ToolService, type ToolDefinition } from "./gen/threadkeep/v1/tool_service_pb.js";
import { UserMemory } from "./memory.js";
import { paged } from "./pages.js";
import { PolicyHandle } from "./compaction/policies.js";
import { refOf, type Caller, type PageOptions, type SessionLike } from "./requests.js";
import { ThreadkeepError } from "./rpc/errors.js";
import { retriesOf, type ClientOptions, type Logger } from "./rpc/settings.js";
import { keepByteOrderMarks } from "./rpc/text.js";
import { reliable } from "./rpc/transport.js";
import { narrowed, type Scope } from "./scope.js";
import { searchEvents, type SearchOptions } from "./search.js";
import { SessionHandle } from "./session.js";
import { deleteExpired, erased, listSessions, listUsers, type ErasureOptions, type SessionsQuery, type UsersQuery } from "./sessions.js";
import { StateHandle } from "./state.js";

/**
 * A client of one server. Create it with `connect`, share it, and close it, for example with `await using`.
 *
 * Lists, searches, watches and deletions cover the client's user and app, unless `userId` and `app`, or `anyUser` and `anyApp`
 * say otherwise. A method without "Page" in its name iterates over all items, page by page.
 *
 * Calls that are safe to repeat are sent up to five times while the server is unavailable. Every method may fail with a
 * ThreadkeepError of code Unavailable or DeadlineExceeded, or of reason UNAUTHENTICATED, PERMISSION_DENIED, INVALID_FIELD,
 * STORE_UNAVAILABLE, SERVER_DRAINING, RATE_LIMITED or INTERNAL. Methods document further reasons. The last argument of a method
 * has the options of the call: `signal`, `timeoutMs`, `headers`.
 *
 * A client keeps byte order marks at the beginning of texts, which Protobuf-ES drops. That changes how the whole process
 * decodes the strings of messages.
 */
export class Client {
  readonly address: string;
  /** App that completes a session id. */
  readonly app: string;
  /** User that completes a session id. */
  readonly userId: string;
  readonly #closing = new AbortController();
  /** The transport of `raw`, for libraries of Connect, such as @connectrpc/connect-query. */
  readonly transport: Transport;
  readonly #caller: Caller;

  /**
   * Use `connect`, unless the transport is one of your own, for example of `createRouterTransport` in tests. `disconnect` is
   * called by `close`.
   */
  constructor(
    transport: Transport,
    private readonly disconnect: () => void,
    options: ClientOptions & { address: string },
  ) {
    keepByteOrderMarks();
    const { address, token = "", app = "", userId = "", timeoutMs = 30_000, logger } = options;
    [this.address, this.app, this.userId] = [address, app, userId];
    const closed = this.#closing.signal;
    this.transport = reliable(transport, { address, token, timeoutMs, retries: retriesOf(options.retry), logger, closed });
    this.#caller = { address, app, userId, closed, logger: logger as Logger | undefined, raw: (service) => this.raw(service) };
  }

  /** Closes the connection. Active and later calls and watches fail with code Canceled. Closing twice has no effect. */
  close(): void {
    this.#closing.abort(new ThreadkeepError("the client is closed", Code.Canceled));
    this.disconnect();
  }

  /** Closes the connection at the end of an `await using` block. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }

  /**
   * Returns a Connect client for every RPC of a service of `@threadkeep/client/v1`: `client.raw(SessionService).getSession({
   * session: trip.ref })`. Calls send the token, have the client's timeout, are retried if that is safe, and fail with
   * ThreadkeepError. Streams have no timeout, are not reopened, and end when their `signal` is aborted; leaving the loop does
   * not end them.
   */
  raw<S extends DescService>(service: S): ServiceClient<S> {
    return createClient(service, this.transport);
  }

  /** Returns a handle on a session, without a call. An empty id is for `create`, to get one from the server. */
  session(session: SessionLike = ""): SessionHandle {
    return new SessionHandle(this.#caller, refOf(this, session));
  }

  /** Iterates over sessions, newest first: `client.sessions({ labels: { team: "eu" }, anyUser: true })`. */
  sessions(query: SessionsQuery = {}, call?: CallOptions): AsyncGenerator<Session, void> {
    return paged((pageToken) => this.sessionsPage({ ...query, pageToken }, call), (page) => page.sessions);
  }

  /** Returns one page of `sessions` with its `nextPageToken`. */
  sessionsPage(query: SessionsQuery = {}, call?: CallOptions): Promise<ListSessionsResponse> {
    return listSessions(this.#caller, query, call);
  }

  /**
   * Iterates over the users that have sessions, memories or state, each with its app, in a fixed order:
   * `client.users({ anyApp: true })`. Reason: PERMISSION_DENIED with a token that is bound to a user.
   */
  users(query: UsersQuery = {}, call?: CallOptions): AsyncGenerator<UserRef, void> {
    return paged((pageToken) => this.usersPage({ ...query, pageToken }, call), (page) => page.users);
  }

  /** Returns one page of `users` with its `nextPageToken`. */
  usersPage(query: UsersQuery = {}, call?: CallOptions): Promise<ListUsersResponse> {
    return listUsers(this.#caller, query, call);
  }

  /**
   * Deletes sessions that expired, by `before` or until now; at most 1,000 per call. The server also deletes them
   * automatically. If `more` is set in the response, call again.
   */
  deleteExpiredSessions(options: Scope & { before?: Date | undefined } = {}, call?: CallOptions): Promise<DeleteExpiredSessionsResponse> {
    return deleteExpired(this.#caller, options, call);
  }

  /**
   * Deletes everything of a user: sessions, memories, policies and, of any app, consumers. The app is by default the client's.
   * Repeats its call, of about 10 seconds, until nothing is left; the timeout is that of one.
   */
  deleteUser(userId: string, options: Omit<Scope, "userId" | "anyUser"> & ErasureOptions = {}, call?: CallOptions): Promise<ErasureReceipt> {
    const { app } = narrowed(this, options);
    return erased(() => this.raw(SessionService).deleteUser({ userId, app, requestId: options.requestId }, call), options.progress);
  }

  /** Deletes everything of an app: the sessions and memories of all users, and policies. "" is what has no app. See `deleteUser`. */
  deleteApp(app: string, { requestId, progress }: ErasureOptions = {}, call?: CallOptions): Promise<ErasureReceipt> {
    return erased(() => this.raw(SessionService).deleteApp({ app, requestId }, call), progress);
  }

  /** Deletes the sessions that have all of these labels, and with `purgeMemories` the memories that came from them. See `deleteUser`. */
  deleteByLabel(
    labels: Readonly<Record<string, string>>,
    options: Scope & ErasureOptions & { purgeMemories?: boolean | undefined } = {},
    call?: CallOptions,
  ): Promise<ErasureReceipt> {
    const { requestId, purgeMemories, progress } = options;
    const request = { ...narrowed(this, options), labels: { ...labels }, purgeMemories, requestId };
    return erased(() => this.raw(SessionService).deleteByLabel(request, call), progress);
  }

  /**
   * Appends batch after batch without waiting for each result: `for await (const { error } of client.appendStream(batches))`.
   * Results come in the order of the batches. A batch is appended all or none; if it fails, its result has the `error`, and the
   * stream continues. At most `maxOutstanding` batches wait for a result; the next one is taken when there is room.
   *
   * Nothing is retried: to resume a broken stream, give batches of `withIds(events)` and send those without a result again. An
   * error of `batches` is thrown after the results of the batches before it. Leaving the loop ends the stream. There is no
   * timeout unless `timeoutMs` sets one for the whole stream. Browsers do not support it.
   */
  appendStream(batches: Iterable<Batch> | AsyncIterable<Batch>, options: AppendStreamOptions = {}, call?: CallOptions): AsyncGenerator<BatchResult, void> {
    return appendStream(this.#caller, batches, options, call);
  }

  /**
   * Searches events, archived ones included, in all sessions of the client's user and app; see `SessionHandle.search` for one
   * session. The query has at most 1,024 characters. `anyUser` requires one app. Reasons: EMBEDDER_NOT_CONFIGURED,
   * EMBEDDER_FAILED.
   */
  search(query: string, options: SearchOptions = {}, call?: CallOptions): AsyncGenerator<SearchHit, void> {
    return paged((pageToken) => this.searchPage(query, { ...options, pageToken }, call), (page) => page.hits);
  }

  /** Returns one page of `search`, with the mode that was used. */
  async searchPage(query: string, options: SearchOptions = {}, call?: CallOptions): Promise<SearchEventsResponse> {
    return searchEvents(this.#caller, undefined, query, options, call);
  }

  /**
   * Iterates over the events of the client's user, or of `userId`, in all sessions of its app: session by session in the order of
   * their creation, and in each in window order. Each item has the event and its session.
   */
  userEvents(query: UserEventsQuery = {}, call?: CallOptions): AsyncGenerator<UserEvent, void> {
    return paged((pageToken) => this.userEventsPage({ ...query, pageToken }, call), (page) => page.events);
  }

  /** Returns one page of `userEvents`, which may be empty and not be the last. */
  userEventsPage(query: UserEventsQuery = {}, call?: CallOptions): Promise<ListUserEventsResponse> {
    return listUserEvents(this.#caller, query, call);
  }

  /**
   * Watches the changes of all sessions of the client's user and app, or of another scope; see `SessionHandle.watch`. Reasons:
   * INVALID_RESUME_TOKEN, QUOTA_EXCEEDED, RESUME_POSITION_EXPIRED.
   */
  watchAll(options: WatchAllOptions = {}, call: WatchCall = {}): AsyncGenerator<Change, void> {
    const scope = { ...narrowed(this, options), labels: { ...options.labels } };
    return follow(scopeOpener(this.raw(SubscriptionService), scope, options), options, call, this.#caller);
  }

  /** Returns a handle on a named consumer, without a call. */
  consumer(name: string): ConsumerHandle {
    return new ConsumerHandle(this.#caller, name);
  }

  /** Iterates over the consumers by name. */
  consumers(query: PageOptions = {}, call?: CallOptions): AsyncGenerator<Consumer, void> {
    return paged((pageToken) => this.consumersPage({ ...query, pageToken }, call), (page) => page.consumers);
  }

  /** Returns one page of `consumers`. */
  consumersPage(query: PageOptions = {}, call?: CallOptions): Promise<ListConsumersResponse> {
    return this.raw(ConsumerService).listConsumers(query, call);
  }

  /** Returns a handle on the state of a user in an app, by default the client's. An app of "" means no app. */
  userState({ app = this.app, userId = this.userId }: { app?: string | undefined; userId?: string | undefined } = {}): StateHandle {
    return new StateHandle(this.#caller, StateScope.USER, create(SessionRefSchema, { app, userId }));
  }

  /** Returns a handle on the state of an app, which all its users share. Default: the client's app. */
  appState(app: string = this.app): StateHandle {
    return new StateHandle(this.#caller, StateScope.APP, create(SessionRefSchema, { app }));
  }

  /** Returns a handle on the compaction policy of a user's sessions: by default the client's, in its app or with `anyApp` in all. */
  userPolicy(options: Omit<Scope, "anyUser"> = {}): PolicyHandle {
    return new PolicyHandle(this.#caller, { kind: { case: "user", value: narrowed(this, options) } });
  }

  /** Returns a handle on the compaction policy of an app's sessions. Default: the client's app. */
  appPolicy(app: string = this.app): PolicyHandle {
    return new PolicyHandle(this.#caller, { kind: { case: "app", value: app } });
  }

  /** Returns a handle on the compaction policy of all sessions of the tenant. */
  serverPolicy(): PolicyHandle {
    return new PolicyHandle(this.#caller, { kind: { case: "server", value: true } });
  }

  /** Returns the recall tools of the server. Give those with `declared` to your model, and its calls to `SessionHandle.callTool`. */
  async tools(call?: CallOptions): Promise<ToolDefinition[]> {
    return (await this.raw(ToolService).listTools({}, call)).tools;
  }

  /** Returns version, engine, durability, limits and capabilities of the server; `totals` counts sessions and events, by a scan. */
  info(options: { totals?: boolean | undefined } = {}, call?: CallOptions): Promise<GetServerInfoResponse> {
    return this.raw(ServerService).getServerInfo({ includeTotals: options.totals }, call);
  }

  /**
   * Iterates over the records of the audit log of the server that answers, newest first: `client.auditRecords({ method:
   * "DeleteSession" })`. Needs the role admin. Reasons: AUDIT_LOG_UNAVAILABLE, RATE_LIMITED.
   */
  auditRecords(query: AuditQuery = {}, call?: CallOptions): AsyncGenerator<AuditRecord, void> {
    return paged((pageToken) => this.auditRecordsPage({ ...query, pageToken }, call), (page) => page.records);
  }

  /** Returns one page of `auditRecords`, which may be empty and not be the last. */
  auditRecordsPage(query: AuditQuery = {}, call?: CallOptions): Promise<ListAuditRecordsResponse> {
    return listAuditRecords(this.#caller, query, call);
  }

  /** Returns the retention of the server: policies that archive and delete old sessions. */
  retention(): RetentionHandle {
    return new RetentionHandle(this.#caller);
  }

  /** Returns a handle on the long-term memory of a user in an app, by default the client's. An app of "" means no app. */
  memory({ app, userId }: { app?: string | undefined; userId?: string | undefined } = {}): UserMemory {
    return new UserMemory(this.#caller, create(MemoryScopeSchema, { app: app ?? this.app, userId: userId || this.userId }));
  }
}

package dev.threadkeep.async;

import dev.threadkeep.Appended;
import dev.threadkeep.Events;
import dev.threadkeep.SessionHandle;
import dev.threadkeep.filter.MemoryProvider;
import dev.threadkeep.internal.operations.SessionOperations;
import dev.threadkeep.options.AppendOptions;
import dev.threadkeep.options.ContextOptions;
import dev.threadkeep.options.CreateOptions;
import dev.threadkeep.options.EventsOptions;
import dev.threadkeep.options.SearchOptions;
import dev.threadkeep.options.UpdateOptions;
import dev.threadkeep.options.WatchOptions;
import dev.threadkeep.v1.Branch;
import dev.threadkeep.v1.CallToolResponse;
import dev.threadkeep.v1.Change;
import dev.threadkeep.v1.CreateSessionResponse;
import dev.threadkeep.v1.DeleteSessionResponse;
import dev.threadkeep.v1.GetContextResponse;
import dev.threadkeep.v1.ListEventsResponse;
import dev.threadkeep.v1.ListUsageRequest;
import dev.threadkeep.v1.LoadSessionRequest;
import dev.threadkeep.v1.LoadSessionResponse;
import dev.threadkeep.v1.SearchHit;
import dev.threadkeep.v1.Session;
import dev.threadkeep.v1.SessionEvent;
import dev.threadkeep.v1.SessionRef;
import dev.threadkeep.v1.UsageEntry;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.function.Consumer;

/**
 * A handle on one session, from {@link AsyncThreadkeepClient#session(String)}, which makes no call. It is thread-safe, and valid as
 * long as its client. Each method does what the method of this name does in {@link SessionHandle}.
 */
public final class AsyncSessionHandle extends AsyncSessionWindow {
  /** How this participant reads and writes; null means without a provider. */
  private final MemoryProvider memory;

  AsyncSessionHandle(AsyncThreadkeepClient client, SessionRef ref, MemoryProvider memory) {
    super(client, ref);
    this.memory = memory;
  }

  /** Returns the handle whose streams this one has. */
  private SessionHandle blocking() {
    var session = client.client.session(ref);
    return memory == null ? session : session.withMemory(memory);
  }

  /**
   * Returns the id of the session.
   *
   * @return the id
   */
  public String id() {
    return ref.getSessionId();
  }

  /**
   * Returns the complete reference of the session.
   *
   * @return the reference
   */
  public SessionRef ref() {
    return ref;
  }

  /**
   * Returns the same session for a participant with this provider: {@link #getContext()} reads by it and, if it does not write,
   * appends are dropped: nothing is sent, {@link Appended#dropped()} is true, and the log says so.
   *
   * @param provider the provider
   * @return a handle
   */
  public AsyncSessionHandle withMemory(MemoryProvider provider) {
    return new AsyncSessionHandle(client, ref, provider);
  }

  /**
   * Creates the session with the server's defaults. See {@link #create(Consumer)}.
   *
   * @return a future of the session
   */
  public CompletableFuture<CreateSessionResponse> create() {
    return create(o -> {});
  }

  /**
   * Creates the session. Of a handle with an empty id, the server generates the id. Reasons: SESSION_ALREADY_EXISTS.
   *
   * @param options sets the options, see {@link CreateOptions}
   * @return a future of the session, and of whether it was created
   */
  public CompletableFuture<CreateSessionResponse> create(Consumer<CreateOptions> options) {
    return client.start(() -> SessionOperations.create(ref, options));
  }

  /**
   * Returns the metadata and the counters of the session. Reasons: SESSION_NOT_FOUND, AMBIGUOUS_SESSION.
   *
   * @return a future of the session
   */
  public CompletableFuture<Session> get() {
    return client.start(() -> SessionOperations.get(ref));
  }

  /**
   * Returns the session, its state, and a page of its events or a context, all as of one moment. Reasons: SESSION_NOT_FOUND,
   * AMBIGUOUS_SESSION.
   *
   * @param change changes the request, for example its filter, its spec, which loads a context, or its state_scopes
   * @return a future of the session, its state and its log
   */
  public CompletableFuture<LoadSessionResponse> load(Consumer<LoadSessionRequest.Builder> change) {
    return client.start(() -> SessionOperations.load(ref, change));
  }

  /**
   * Lists the branches that have events, with their counts: the root first. Reasons: SESSION_NOT_FOUND.
   *
   * @return the branches
   */
  public AsyncPages<Branch> branches() {
    return new AsyncPages<>(client, SessionOperations.branches(ref));
  }

  /**
   * Lists the token usage by turn, invocation and branch. A turn in two pages has an entry of each. Reasons: SESSION_NOT_FOUND.
   *
   * @param change changes the request, for example its branch, its after_seq or its before_seq
   * @return the entries
   */
  public AsyncPages<UsageEntry> usage(Consumer<ListUsageRequest.Builder> change) {
    return new AsyncPages<>(client, SessionOperations.usage(ref, change));
  }

  /**
   * Updates the session: what is set, and nothing else. Reasons: SESSION_NOT_FOUND, VERSION_MISMATCH (of the etag).
   *
   * @param options sets the options, see {@link UpdateOptions}
   * @return a future of the session after the update
   */
  public CompletableFuture<Session> update(Consumer<UpdateOptions> options) {
    return client.start(() -> SessionOperations.update(ref, options));
  }

  /**
   * Gives the session to another user of its app. See {@link SessionHandle#move(String)}. Reasons: SESSION_NOT_FOUND,
   * SESSION_ALREADY_EXISTS, PERMISSION_DENIED.
   *
   * @param newUserId user who gets the session
   * @return a future of the session, of its new owner
   */
  public CompletableFuture<Session> move(String newUserId) {
    return move(newUserId, Events.newEventId());
  }

  /**
   * Like {@link #move(String)}, with an id of the call: a repeated call with the same id changes nothing and returns the session.
   * Reasons: OPERATION_CONFLICT too.
   *
   * @param newUserId user who gets the session
   * @param operationId id of the call
   * @return a future of the session, of its new owner
   */
  public CompletableFuture<Session> move(String newUserId, String operationId) {
    return client.start(() -> SessionOperations.move(ref, newUserId, operationId));
  }

  /**
   * Deletes the session and its events. Succeeds if it does not exist.
   *
   * @return a future of what was deleted
   */
  public CompletableFuture<DeleteSessionResponse> delete() {
    return delete(false);
  }

  /**
   * Deletes the session and its events. Succeeds if it does not exist.
   *
   * @param purgeMemories whether to delete the memories that came from it too
   * @return a future of what was deleted
   */
  public CompletableFuture<DeleteSessionResponse> delete(boolean purgeMemories) {
    return delete(purgeMemories, "");
  }

  /**
   * Deletes the session and its events, if it is the one with this uid. Succeeds if it does not exist. Reason: VERSION_MISMATCH if
   * it was deleted and created again.
   *
   * @param purgeMemories whether to delete the memories that came from it too
   * @param uid uid of the session; "" means any
   * @return a future of what was deleted
   */
  public CompletableFuture<DeleteSessionResponse> delete(boolean purgeMemories, String uid) {
    return client.start(() -> SessionOperations.delete(ref, purgeMemories, uid));
  }

  /**
   * Appends events to an existing session. See {@link #append(List, Consumer)}.
   *
   * @param events events to append, in order
   * @return a future of the result for each event, and of the versions of the session
   */
  public CompletableFuture<Appended> append(SessionEvent... events) {
    return client.start(() -> SessionOperations.append(ref, memory, List.of(events), o -> {}));
  }

  /**
   * Appends events, all or none. When the future completes, they are on durable storage. Events without an id get one in a copy
   * before they are sent, so that the client's retries store nothing twice. To retry after errors yourself, append the same {@link
   * Events#withIds(List)} again. Two appends whose futures are not awaited may be stored in either order. Reasons:
   * SESSION_NOT_FOUND, VERSION_MISMATCH, EVENT_ID_CONFLICT, EVENT_TOO_LARGE, BATCH_TOO_LARGE.
   *
   * @param events events to append, in order
   * @param options sets the options, see {@link AppendOptions}
   * @return a future of the result for each event, and of the versions of the session
   */
  public CompletableFuture<Appended> append(List<SessionEvent> events, Consumer<AppendOptions> options) {
    return client.start(() -> SessionOperations.append(ref, memory, events, options));
  }

  /**
   * Appends batch after batch, in order, without waiting for each response.
   *
   * @param maxOutstanding number of batches at the server that may wait for their result, at least 1; 64 is a good one
   * @return a stream to close
   * @throws IllegalArgumentException if the number is less than 1
   * @throws IllegalStateException if the client is closed
   */
  public AsyncAppendStream appendStream(int maxOutstanding) {
    if (maxOutstanding < 1) {
      throw new IllegalArgumentException("maxOutstanding must be at least 1");
    }
    return new AsyncAppendStream(blocking().appendStream(Integer.MAX_VALUE), maxOutstanding);
  }

  /**
   * Returns an event. Reasons: SESSION_NOT_FOUND, EVENT_NOT_FOUND.
   *
   * @param eventId id of the event
   * @return a future of the event
   */
  public CompletableFuture<SessionEvent> getEvent(String eventId) {
    return client.start(() -> SessionOperations.getEvent(ref, eventId));
  }

  /**
   * Lists the events of the session, oldest first, archived ones included. An unknown session has none.
   *
   * @return the events
   */
  public AsyncPages<SessionEvent> events() {
    return events(o -> {});
  }

  /**
   * Lists the events of the session. An unknown session has none.
   *
   * @param options sets the options, see {@link EventsOptions}
   * @return the events
   */
  public AsyncPages<SessionEvent> events(Consumer<EventsOptions> options) {
    return new AsyncPages<>(client, SessionOperations.events(ref, options));
  }

  /**
   * Returns one page of the events. Reasons: INVALID_PAGE_TOKEN.
   *
   * @param options sets the options, see {@link EventsOptions}
   * @return a future of the page, the token of the next one, and the log version
   */
  public CompletableFuture<ListEventsResponse> eventsPage(Consumer<EventsOptions> options) {
    return client.start(() -> SessionOperations.eventsPage(ref, options));
  }

  /**
   * Returns the context of an agent: the SYSTEM event, the summaries, then whole turns of the active window. It is read by the
   * provider of this handle. An unknown session has an empty context.
   *
   * @return a future of the events and counters
   */
  public CompletableFuture<GetContextResponse> getContext() {
    return getContext(o -> {});
  }

  /**
   * Returns the context of an agent. An unknown session has an empty context.
   *
   * @param provider what is read
   * @return a future of the events and counters
   */
  public CompletableFuture<GetContextResponse> getContext(MemoryProvider provider) {
    return getContext(o -> o.memory(provider));
  }

  /**
   * Returns the context of an agent. An unknown session has an empty context. Reasons: HISTORY_UNKNOWN.
   *
   * @param options sets the options, see {@link ContextOptions}
   * @return a future of the events and counters
   */
  public CompletableFuture<GetContextResponse> getContext(Consumer<ContextOptions> options) {
    return client.start(() -> SessionOperations.getContext(ref, memory, options));
  }

  /**
   * Searches the events of this session, archived ones included, best hit first.
   *
   * @param query at most 1,024 characters
   * @return the hits
   */
  public AsyncPages<SearchHit> search(String query) {
    return search(query, o -> {});
  }

  /**
   * Searches the events of this session, archived ones included, best hit first. Reasons: SESSION_NOT_FOUND,
   * EMBEDDER_NOT_CONFIGURED, EMBEDDER_FAILED.
   *
   * @param query at most 1,024 characters
   * @param options sets the options, see {@link SearchOptions}
   * @return the hits
   */
  public AsyncPages<SearchHit> search(String query, Consumer<SearchOptions> options) {
    return new AsyncPages<>(client, SessionOperations.search(ref, query, options));
  }

  /**
   * Runs a recall tool for this session; see {@link AsyncThreadkeepClient#tools()}. A failure of the tool is in the response.
   *
   * @param name name of the tool
   * @param argumentsJson arguments as the model wrote them
   * @return a future of the result as JSON
   */
  public CompletableFuture<CallToolResponse> callTool(String name, String argumentsJson) {
    return client.start(() -> SessionOperations.callTool(ref, name, argumentsJson));
  }

  /**
   * Watches the session from the subscription on. See {@link #watch(Consumer)}.
   *
   * @return a publisher of the changes
   */
  public Flow.Publisher<Change> watch() {
    return watch(o -> {});
  }

  /**
   * Watches the changes of the session, which need not exist yet: each is delivered once, in order; an append is one change. Each
   * subscriber watches by itself and receives as many changes as it requests; at most eight messages of the server are read ahead.
   * It is called on the default executor of CompletableFuture, which it must not block. Canceling ends its watch.
   *
   * <p>A watch has no deadline, and resumes where it stopped; see {@link SessionHandle#watch(Consumer)}. Reasons: SESSION_NOT_FOUND,
   * AMBIGUOUS_SESSION, INVALID_RESUME_TOKEN, QUOTA_EXCEEDED, RESUME_POSITION_EXPIRED.
   *
   * @param options sets the options, see {@link WatchOptions}
   * @return a publisher of the changes
   */
  public Flow.Publisher<Change> watch(Consumer<WatchOptions> options) {
    return blocking().watchPublisher(options);
  }
}

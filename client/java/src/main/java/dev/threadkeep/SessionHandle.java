package dev.threadkeep;

import dev.threadkeep.filter.MemoryProvider;
import dev.threadkeep.internal.Watch;
import dev.threadkeep.internal.WatchSubscription;
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
import java.util.concurrent.Flow;
import java.util.function.Consumer;

/**
 * A handle on one session, from {@link ThreadkeepClient#session(String)}, which makes no call. It is thread-safe, and valid as
 * long as its client.
 */
public final class SessionHandle extends SessionWindow {
  /** How this participant reads and writes; null means without a provider. */
  private final MemoryProvider memory;

  SessionHandle(ThreadkeepClient client, SessionRef ref, MemoryProvider memory) {
    super(client, ref);
    this.memory = memory;
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
  public SessionHandle withMemory(MemoryProvider provider) {
    return new SessionHandle(client, ref, provider);
  }

  /**
   * Creates the session with the server's defaults. See {@link #create(Consumer)}.
   *
   * @return the session
   */
  public CreateSessionResponse create() {
    return create(o -> {});
  }

  /**
   * Creates the session. Of a handle with an empty id, the server generates the id. Reasons: SESSION_ALREADY_EXISTS.
   *
   * @param options sets the options, see {@link CreateOptions}
   * @return the session, and whether it was created
   */
  public CreateSessionResponse create(Consumer<CreateOptions> options) {
    return client.run(SessionOperations.create(ref, options));
  }

  /**
   * Returns the metadata and the counters of the session. Reasons: SESSION_NOT_FOUND, AMBIGUOUS_SESSION.
   *
   * @return the session
   */
  public Session get() {
    return client.run(SessionOperations.get(ref));
  }

  /**
   * Returns the session, its state, and a page of its events or a context, all as of one moment. Reasons: SESSION_NOT_FOUND,
   * AMBIGUOUS_SESSION.
   *
   * @param change changes the request, for example its filter, its spec, which loads a context, or its state_scopes
   * @return the session, its state and its log
   */
  public LoadSessionResponse load(Consumer<LoadSessionRequest.Builder> change) {
    return client.run(SessionOperations.load(ref, change));
  }

  /**
   * Lists the branches that have events, with their counts: the root first. Reasons: SESSION_NOT_FOUND.
   *
   * @return the branches, page by page
   */
  public Pages<Branch> branches() {
    return new Pages<>(client, SessionOperations.branches(ref));
  }

  /**
   * Lists the token usage by turn, invocation and branch. A turn in two pages has an entry of each. Reasons: SESSION_NOT_FOUND.
   *
   * @param change changes the request, for example its branch, its after_seq or its before_seq
   * @return the entries, page by page
   */
  public Pages<UsageEntry> usage(Consumer<ListUsageRequest.Builder> change) {
    return new Pages<>(client, SessionOperations.usage(ref, change));
  }

  /**
   * Updates the session: what is set, and nothing else. Reasons: SESSION_NOT_FOUND, VERSION_MISMATCH (of the etag).
   *
   * @param options sets the options, see {@link UpdateOptions}
   * @return the session after the update
   */
  public Session update(Consumer<UpdateOptions> options) {
    return client.run(SessionOperations.update(ref, options));
  }

  /**
   * Gives the session to another user of its app, with its events, state, labels and policy. Requires a credential with the role
   * admin that is not bound to a user. This handle does not find it any more: the ref of the result names it. Memories that came
   * from it stay with the former owner. Reasons: SESSION_NOT_FOUND, SESSION_ALREADY_EXISTS, PERMISSION_DENIED.
   *
   * @param newUserId user who gets the session
   * @return the session, of its new owner
   */
  public Session move(String newUserId) {
    return move(newUserId, Events.newEventId());
  }

  /**
   * Like {@link #move(String)}, with an id of the call: a repeated call with the same id changes nothing and returns the session.
   * Reasons: OPERATION_CONFLICT too.
   *
   * @param newUserId user who gets the session
   * @param operationId id of the call
   * @return the session, of its new owner
   */
  public Session move(String newUserId, String operationId) {
    return client.run(SessionOperations.move(ref, newUserId, operationId));
  }

  /**
   * Deletes the session and its events. Succeeds if it does not exist.
   *
   * @return what was deleted
   */
  public DeleteSessionResponse delete() {
    return delete(false);
  }

  /**
   * Deletes the session and its events. Succeeds if it does not exist.
   *
   * @param purgeMemories whether to delete the memories that came from it, and its archives, too
   * @return what was deleted
   */
  public DeleteSessionResponse delete(boolean purgeMemories) {
    return delete(purgeMemories, "");
  }

  /**
   * Deletes the session and its events, if it is the one with this uid. Succeeds if it does not exist. Reason: VERSION_MISMATCH if
   * it was deleted and created again.
   *
   * @param purgeMemories whether to delete the memories that came from it, and its archives, too
   * @param uid uid of the session; "" means any
   * @return what was deleted
   */
  public DeleteSessionResponse delete(boolean purgeMemories, String uid) {
    return client.run(SessionOperations.delete(ref, purgeMemories, uid));
  }

  /**
   * Appends events to an existing session. See {@link #append(List, Consumer)}.
   *
   * @param events events to append, in order
   * @return the result for each event, and the versions of the session
   */
  public Appended append(SessionEvent... events) {
    return append(List.of(events), o -> {});
  }

  /**
   * Appends events, all or none. When it returns, they are on durable storage. Events without an id get one in a copy before
   * they are sent, so that the client's retries store nothing twice. To retry after errors yourself, append the same {@link
   * Events#withIds(List)} again. Reasons: SESSION_NOT_FOUND, VERSION_MISMATCH, EVENT_ID_CONFLICT, EVENT_TOO_LARGE,
   * BATCH_TOO_LARGE.
   *
   * @param events events to append, in order
   * @param options sets the options, see {@link AppendOptions}
   * @return the result for each event, and the versions of the session
   */
  public Appended append(List<SessionEvent> events, Consumer<AppendOptions> options) {
    return client.run(SessionOperations.append(ref, memory, events, options));
  }

  /**
   * Appends batch after batch without waiting for each response.
   *
   * @param maxOutstanding number of batches that may wait for their result, at least 1; 64 is a good one
   * @return a stream to close
   */
  public AppendStream appendStream(int maxOutstanding) {
    return new AppendStream(client.connection, ref, memory, maxOutstanding);
  }

  /**
   * Returns an event. Reasons: SESSION_NOT_FOUND, EVENT_NOT_FOUND.
   *
   * @param eventId id of the event
   * @return the event
   */
  public SessionEvent getEvent(String eventId) {
    return client.run(SessionOperations.getEvent(ref, eventId));
  }

  /**
   * Lists the events of the session, oldest first, archived ones included. An unknown session has none.
   *
   * @return the events, page by page
   */
  public Pages<SessionEvent> events() {
    return events(o -> {});
  }

  /**
   * Lists the events of the session. An unknown session has none.
   *
   * @param options sets the options, see {@link EventsOptions}
   * @return the events, page by page
   */
  public Pages<SessionEvent> events(Consumer<EventsOptions> options) {
    return new Pages<>(client, SessionOperations.events(ref, options));
  }

  /**
   * Returns one page of the events. Reasons: INVALID_PAGE_TOKEN.
   *
   * @param options sets the options, see {@link EventsOptions}
   * @return the page, the token of the next one, and the log version
   */
  public ListEventsResponse eventsPage(Consumer<EventsOptions> options) {
    return client.run(SessionOperations.eventsPage(ref, options));
  }

  /**
   * Returns the context of an agent: the SYSTEM event, the summaries, then whole turns of the active window. It is read by the
   * provider of this handle. An unknown session has an empty context.
   *
   * @return the events and counters
   */
  public GetContextResponse getContext() {
    return getContext(o -> {});
  }

  /**
   * Returns the context of an agent. An unknown session has an empty context.
   *
   * @param provider what is read
   * @return the events and counters
   */
  public GetContextResponse getContext(MemoryProvider provider) {
    return getContext(o -> o.memory(provider));
  }

  /**
   * Returns the context of an agent. An unknown session has an empty context. Reasons: HISTORY_UNKNOWN.
   *
   * @param options sets the options, see {@link ContextOptions}
   * @return the events and counters
   */
  public GetContextResponse getContext(Consumer<ContextOptions> options) {
    return client.run(SessionOperations.getContext(ref, memory, options));
  }

  /**
   * Searches the events of this session, archived ones included, best hit first.
   *
   * @param query at most 1,024 characters
   * @return the hits, page by page
   */
  public Pages<SearchHit> search(String query) {
    return search(query, o -> {});
  }

  /**
   * Searches the events of this session, archived ones included, best hit first. Reasons: SESSION_NOT_FOUND,
   * EMBEDDER_NOT_CONFIGURED, EMBEDDER_FAILED.
   *
   * @param query at most 1,024 characters
   * @param options sets the options, see {@link SearchOptions}
   * @return the hits, page by page
   */
  public Pages<SearchHit> search(String query, Consumer<SearchOptions> options) {
    return new Pages<>(client, SessionOperations.search(ref, query, options));
  }

  /**
   * Runs a recall tool for this session; see {@link ThreadkeepClient#tools()}. A failure of the tool is in the response.
   *
   * @param name name of the tool
   * @param argumentsJson arguments as the model wrote them
   * @return the result as JSON
   */
  public CallToolResponse callTool(String name, String argumentsJson) {
    return client.run(SessionOperations.callTool(ref, name, argumentsJson));
  }

  /**
   * Watches the session from now on. See {@link #watch(Consumer)}.
   *
   * @return the changes; close them
   */
  public Changes watch() {
    return watch(o -> {});
  }

  /**
   * Watches the changes of the session, which need not exist yet. Each change is delivered once, in order; an append is one
   * change.
   *
   * <p>A watch has no deadline. If the server is unavailable or silent for 30 seconds, the stream is reopened where it stopped,
   * after a pause of up to 0.1 seconds that doubles up to 5 seconds (and at least the server's retry delay), by default without
   * limit; any message resets the count. Store the resume_token of a change after handling it; a watch with that token and the
   * same scope and filter resumes after it.
   *
   * <p>Reasons: SESSION_NOT_FOUND and AMBIGUOUS_SESSION for a session without a user, INVALID_RESUME_TOKEN, QUOTA_EXCEEDED, and
   * RESUME_POSITION_EXPIRED if the feed no longer has the next changes; changes were then missed, so read the sessions again
   * before starting at the {@code oldest_resume_token} in its metadata.
   *
   * @param options sets the options, see {@link WatchOptions}
   * @return the changes; close them
   */
  public Changes watch(Consumer<WatchOptions> options) {
    return new Changes(client.connection, SessionOperations.watch(ref, options), Watch.SILENCE);
  }

  /**
   * Returns a watch as a publisher. Each subscriber watches by itself, from its subscription on, like {@link #watch(Consumer)}, and
   * receives as many changes as it requests, on the default executor of CompletableFuture, which it must not block. Canceling ends
   * its watch; the errors of a watch are its errors.
   *
   * @param options sets the options, see {@link WatchOptions}
   * @return the publisher
   */
  public Flow.Publisher<Change> watchPublisher(Consumer<WatchOptions> options) {
    return WatchSubscription.publisher(client.connection, SessionOperations.watch(ref, options), Watch.SILENCE);
  }
}

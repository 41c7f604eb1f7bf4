package dev.threadkeep.adk;

import com.google.adk.events.Event;
import com.google.adk.sessions.BaseSessionService;
import com.google.adk.sessions.GetSessionConfig;
import com.google.adk.sessions.ListEventsResponse;
import com.google.adk.sessions.ListSessionsResponse;
import com.google.adk.sessions.Session;
import com.google.adk.sessions.SessionException;
import com.google.adk.sessions.SessionNotFoundException;
import com.google.adk.sessions.State;
import dev.threadkeep.Appended;
import dev.threadkeep.Reason;
import dev.threadkeep.ThreadkeepClient;
import dev.threadkeep.ThreadkeepException;
import dev.threadkeep.options.CreateOptions;
import dev.threadkeep.v1.PatchStateRequest;
import dev.threadkeep.v1.SessionRef;
import dev.threadkeep.v1.StatePatch;
import dev.threadkeep.v1.StateScope;
import dev.threadkeep.v1.StateServiceGrpc;
import io.reactivex.rxjava3.core.Completable;
import io.reactivex.rxjava3.core.Maybe;
import io.reactivex.rxjava3.core.Single;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentMap;
import java.util.function.Consumer;

/**
 * The session service of ADK on a Threadkeep server. The address and the token are the client's; the app and the user are those of
 * ADK's calls. Events come back equal, and are those of ADK for Python too.
 *
 * <p>Appends are serialized by the server and never fail because of another writer. An event that is appended again, with its id and
 * content, is stored once. Calls are made when their result is subscribed to; they fail with {@link SessionException}, whose cause is
 * a {@link ThreadkeepException}. The service is thread-safe and valid as long as its client, which it does not close.
 */
public final class ThreadkeepSessionService implements BaseSessionService {
  private static final GetSessionConfig WHOLE = GetSessionConfig.builder().build();
  private static final GetSessionConfig WITHOUT_EVENTS = GetSessionConfig.builder().numRecentEvents(0).build();

  private final ThreadkeepClient client;
  private final Reading reading;
  private final Consumer<CreateOptions> creation;

  /**
   * Creates the service, without a call. Sessions are kept as the server says, by default 60 days after their last change.
   *
   * @param client client whose address and token are used
   */
  public ThreadkeepSessionService(ThreadkeepClient client) {
    this(client, o -> {});
  }

  /**
   * Creates the service, without a call.
   *
   * @param client client whose address and token are used
   * @param creation options of the sessions that it creates, such as {@code o -> o.ttl(Duration.ofDays(7))}
   */
  public ThreadkeepSessionService(ThreadkeepClient client, Consumer<CreateOptions> creation) {
    this.client = Objects.requireNonNull(client, "client cannot be null");
    this.reading = new Reading(client);
    this.creation = Objects.requireNonNull(creation, "creation cannot be null");
  }

  @Override
  @Deprecated
  public Single<Session> createSession(String appName, String userId, ConcurrentMap<String, Object> state, String sessionId) {
    return createSession(appName, userId, (Map<String, Object>) state, sessionId);
  }

  /**
   * Creates a session; without an id, or with a blank one, the server generates it. Fails with SessionException if there is one with
   * this id. Values of the app and of the user are set after it is created; if that fails, it is deleted again.
   *
   * @param appName name of the app
   * @param userId id of the user
   * @param state the initial state; null is none
   * @param sessionId id of the session; null is none
   * @return the session, as it is stored
   */
  @Override
  public Single<Session> createSession(String appName, String userId, Map<String, Object> state, String sessionId) {
    SessionRef wanted = ref(appName, userId, sessionId == null ? "" : sessionId);
    ScopedState first = ScopedState.of(state == null ? Map.of() : state);
    return single(() -> {
      SessionRef created = client.session(wanted).create(o -> {
        creation.accept(o);
        first.session().getSetMap().forEach(o::state);
      }).getSession().getRef();
      try {
        patch(StateScope.STATE_SCOPE_USER, created, first.user());
        patch(StateScope.STATE_SCOPE_APP, created, first.app());
      } catch (ThreadkeepException error) {
        client.session(created).delete();
        throw error;
      }
      return reading.load(created, WITHOUT_EVENTS);
    });
  }

  /**
   * Returns a session as of one moment, or nothing if there is none. Its events are those of the active window: all of them, unless
   * Threadkeep has compacted or removed some.
   *
   * @param appName name of the app
   * @param userId id of the user
   * @param sessionId id of the session
   * @param config which events: the newest ones, of which those since a time. A negative number is an IllegalArgumentException
   * @return the session
   */
  @Override
  public Maybe<Session> getSession(String appName, String userId, String sessionId, Optional<GetSessionConfig> config) {
    SessionRef wanted = ref(appName, userId, sessionId);
    GetSessionConfig chosen = config.orElse(WHOLE);
    if (chosen.numRecentEvents().orElse(0) < 0) {
      throw new IllegalArgumentException("numRecentEvents must not be negative");
    }
    return single(() -> {
      try {
        return wanted.getSessionId().isEmpty() ? Optional.<Session>empty() : Optional.of(reading.load(wanted, chosen));
      } catch (ThreadkeepException error) {
        if (error.reason() == Reason.SESSION_NOT_FOUND) {
          return Optional.<Session>empty();
        }
        throw error;
      }
    }).mapOptional(found -> found);
  }

  /**
   * Returns all sessions of a user with their state and without events: the least recently updated first.
   *
   * @param appName name of the app
   * @param userId id of the user
   * @return the sessions
   */
  @Override
  public Single<ListSessionsResponse> listSessions(String appName, String userId) {
    SessionRef user = ref(appName, userId, "");
    return single(() -> {
      List<Session> found = user.getUserId().isEmpty() ? List.of() : reading.list(appName, userId);
      return ListSessionsResponse.builder().sessions(found).build();
    });
  }

  /**
   * Deletes a session and its events. Does nothing if there is none.
   *
   * @param appName name of the app
   * @param userId id of the user
   * @param sessionId id of the session
   */
  @Override
  public Completable deleteSession(String appName, String userId, String sessionId) {
    SessionRef wanted = ref(appName, userId, sessionId);
    return single(() -> wanted.getSessionId().isEmpty() ? wanted : client.session(wanted).delete()).ignoreElement();
  }

  /**
   * Returns all events of the active window, without a next page. Fails with SessionNotFoundException if there is no such session.
   *
   * @param appName name of the app
   * @param userId id of the user
   * @param sessionId id of the session
   * @return the events
   */
  @Override
  public Single<ListEventsResponse> listEvents(String appName, String userId, String sessionId) {
    SessionRef wanted = ref(appName, userId, sessionId);
    return single(() -> ListEventsResponse.builder().events(reading.load(wanted, WHOLE).events()).build());
  }

  /**
   * Appends an event, with its changes of state in all scopes; it is on durable storage when this succeeds. A partial event is not
   * stored, and temporary keys are in the session object only. Fails with SessionNotFoundException if there is no such session, and
   * with SessionException if another event of the session has this id.
   *
   * @param session session object, which is changed as the stored session is
   * @param event the event; it gets an id if it has none
   * @return the event
   */
  @Override
  public Single<Event> appendEvent(Session session, Event event) {
    Objects.requireNonNull(session, "session cannot be null");
    Objects.requireNonNull(event, "event cannot be null");
    SessionRef wanted = ref(session.appName(), session.userId(), session.id());
    if (event.partial().orElse(false)) {
      return Single.just(event);
    }
    return single(() -> {
      synchronized (session) { // its list has the order of the log
        if (event.id() == null || event.id().isEmpty()) {
          event.setId(Event.generateEventId());
        }
        boolean replayed = store(wanted, event).response().getEvents(0).getReplayed();
        if (!replayed || session.events().stream().noneMatch(each -> event.id().equals(each.id()))) {
          apply(session, event);
        }
        return event;
      }
    });
  }

  private Appended store(SessionRef ref, Event event) {
    ScopedState delta = ScopedState.of(event.actions() == null ? Map.of() : event.actions().stateDelta());
    return client.session(ref).append(List.of(AdkEvents.write(event)), o -> o.with(request -> {
      var changes = request.getStateDeltaBuilder();
      set(delta.session(), changes::setSession);
      set(delta.user(), changes::setUser);
      set(delta.app(), changes::setApp);
    }));
  }

  private static void set(StatePatch patch, Consumer<StatePatch> setter) {
    if (!ScopedState.isEmpty(patch)) {
      setter.accept(patch);
    }
  }

  /** Changes the caller's session. Its temporary keys are for the agents of a run. */
  private void apply(Session session, Event event) {
    BaseSessionService.super.appendEvent(session, event).blockingGet();
    if (event.actions() != null) {
      event.actions().stateDelta().forEach((key, value) -> {
        if (key.startsWith(State.TEMP_PREFIX)) {
          if (value == State.REMOVED) {
            session.state().remove(key);
          } else {
            session.state().put(key, value);
          }
        }
      });
    }
    session.lastUpdateTime(Instant.ofEpochMilli(event.timestamp()));
  }

  /** Sets values of a user or of an app, which may be another than the client's. */
  private void patch(StateScope scope, SessionRef ref, StatePatch patch) {
    if (!ScopedState.isEmpty(patch)) {
      SessionRef user = ref.toBuilder().clearSessionId().build();
      SessionRef whose = scope == StateScope.STATE_SCOPE_APP ? user.toBuilder().clearUserId().build() : user;
      var request = PatchStateRequest.newBuilder().setScope(scope).setSession(whose).setPatch(patch);
      client.call(StateServiceGrpc.getPatchStateMethod(), request.build());
    }
  }

  private static <T> Single<T> single(Callable<T> call) {
    return Rx.single(() -> {
      try {
        return call.call();
      } catch (ThreadkeepException error) {
        throw switch (error.reason()) {
          case SESSION_NOT_FOUND -> new SessionNotFoundException("Session not found. " + error.getMessage(), error);
          case SESSION_ALREADY_EXISTS -> new SessionException("A session with this id already exists. " + error.getMessage(), error);
          case EVENT_ID_CONFLICT -> new SessionException("Another event of the session has this id. " + error.getMessage(), error);
          default -> new SessionException(error.getMessage(), error);
        };
      }
    });
  }

  private static SessionRef ref(String appName, String userId, String sessionId) {
    Objects.requireNonNull(appName, "appName cannot be null");
    Objects.requireNonNull(userId, "userId cannot be null");
    Objects.requireNonNull(sessionId, "sessionId cannot be null");
    return SessionRef.newBuilder().setApp(appName).setUserId(userId).setSessionId(sessionId.strip()).build();
  }
}

package dev.threadkeep.adk;

import com.google.adk.sessions.GetSessionConfig;
import com.google.adk.sessions.Session;
import com.google.adk.sessions.State;
import dev.threadkeep.SessionHandle;
import dev.threadkeep.ThreadkeepClient;
import dev.threadkeep.ThreadkeepException;
import dev.threadkeep.filter.EventFilters;
import dev.threadkeep.v1.GetStateRequest;
import dev.threadkeep.v1.GetStateResponse;
import dev.threadkeep.v1.ListEventsResponse;
import dev.threadkeep.v1.ListSessionsResponse;
import dev.threadkeep.v1.LoadSessionResponse;
import dev.threadkeep.v1.SessionEvent;
import dev.threadkeep.v1.SessionOrder;
import dev.threadkeep.v1.SessionRef;
import dev.threadkeep.v1.StatePage;
import dev.threadkeep.v1.StateScope;
import dev.threadkeep.v1.StateServiceGrpc;
import io.grpc.Status;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Reads sessions from the server as ADK's. */
final class Reading {
  private static final int EVENTS_AT_ONCE = 1000;
  private static final int SESSIONS_AT_ONCE = 200;

  private final ThreadkeepClient client;

  Reading(ThreadkeepClient client) {
    this.client = client;
  }

  /** Returns a session with the events that the configuration selects, as of one moment. */
  Session load(SessionRef ref, GetSessionConfig config) {
    SessionHandle handle = client.session(ref);
    boolean none = config.numRecentEvents().filter(number -> number == 0).isPresent();
    EventFilters wanted = filter(config);
    int size = config.numRecentEvents().isPresent() ? 0 : EVENTS_AT_ONCE;
    LoadSessionResponse loaded = handle.load(request -> {
      request.setWithNewestEvent(true).setExcludeEvents(none);
      if (!none) {
        request.setFilter(wanted.build()).setPageSize(size);
      }
    });
    long lastSeq = loaded.getSession().getLastSeq();
    List<SessionEvent> events = new ArrayList<>();
    for (ListEventsResponse page = loaded.getEvents(); ; ) {
      page.getEventsList().stream().filter(event -> event.getSeq() <= lastSeq).forEach(events::add); // not what was appended since
      String token = page.getNextPageToken();
      if (token.isEmpty()) {
        break;
      }
      page = handle.eventsPage(o -> o.filter(wanted).pageSize(size).pageToken(token));
    }
    config.afterTimestamp().ifPresent(time -> events.removeIf(event -> Instant.ofEpochMilli(AdkEvents.milliseconds(event)).isBefore(time)));
    Map<String, Object> state = new HashMap<>();
    ScopedState.add(state, "", values(loaded.getState().getSession(), StateScope.STATE_SCOPE_SESSION, ref));
    ScopedState.add(state, State.USER_PREFIX, values(loaded.getState().getUser(), StateScope.STATE_SCOPE_USER, ref));
    ScopedState.add(state, State.APP_PREFIX, values(loaded.getState().getApp(), StateScope.STATE_SCOPE_APP, ref));
    return session(loaded.getSession(), loaded.getNewestEvent(), state, events);
  }

  /** Returns the sessions of a user without events: the least recently updated first. */
  List<Session> list(String app, String userId) {
    SessionRef user = SessionRef.newBuilder().setApp(app).setUserId(userId).build();
    List<Session> found = new ArrayList<>();
    Map<String, Object> shared = new HashMap<>();
    String next = "";
    do {
      String token = next;
      ListSessionsResponse page = client.sessionsPage(o -> o.app(app).userId(userId).orderBy(SessionOrder.SESSION_ORDER_CREATED_FIRST)
          .withNewestEvent().withState().pageSize(SESSIONS_AT_ONCE).pageToken(token));
      if (found.isEmpty() && page.getSessionsCount() > 0) {
        ScopedState.add(shared, State.USER_PREFIX, state(StateScope.STATE_SCOPE_USER, user));
        ScopedState.add(shared, State.APP_PREFIX, appState(user));
      }
      for (int i = 0; i < page.getSessionsCount(); i++) {
        var stored = page.getSessions(i);
        Map<String, Object> state = new HashMap<>(shared);
        ScopedState.add(state, "", values(page.getStates(i), StateScope.STATE_SCOPE_SESSION, stored.getRef()));
        found.add(session(stored, page.getNewestEvents(i), state, List.of()));
      }
      next = page.getNextPageToken();
    } while (!next.isEmpty());
    found.sort(Comparator.<Session, Instant>comparing(session -> session.lastUpdateTime()).thenComparing(Session::id));
    return found;
  }

  private static EventFilters filter(GetSessionConfig config) {
    EventFilters wanted = EventFilters.all().active();
    if (config.numRecentEvents().isPresent()) { // of these, those since the time: ADK applies the number first
      return config.numRecentEvents().get() == 0 ? wanted : wanted.exactLastN(config.numRecentEvents().get());
    }
    config.afterTimestamp().ifPresent(wanted::fromTime);
    return wanted;
  }

  /** Returns the session. Its time is that of its newest event, or of its creation. */
  private Session session(dev.threadkeep.v1.Session stored, SessionEvent newest, Map<String, Object> state, List<SessionEvent> events) {
    SessionRef ref = stored.getRef();
    SessionEvent last = newest;
    if (last.getEventId().isEmpty() && stored.getLastSeq() > 0) { // it did not fit into the response
      last = client.session(ref).eventsPage(o -> o.newestFirst().pageSize(1)).getEvents(0);
    }
    var created = stored.getCreateTime();
    return Session.builder(ref.getSessionId())
        .appName(ref.getApp())
        .userId(ref.getUserId())
        .state(new ConcurrentHashMap<>(state))
        .events(AdkEvents.read(events))
        .lastUpdateTime(last.getEventId().isEmpty()
            ? Instant.ofEpochSecond(created.getSeconds(), created.getNanos())
            : Instant.ofEpochMilli(AdkEvents.milliseconds(last)))
        .build();
  }

  /** Returns the values of a state, which is read again if it did not fit into the response. */
  private Map<String, String> values(StatePage page, StateScope scope, SessionRef ref) {
    return page.getMore() ? state(scope, ref) : page.getValuesMap();
  }

  /** Returns the values of an app; none for a credential that is bound to a user, which may not read them. */
  private Map<String, String> appState(SessionRef ref) {
    try {
      return state(StateScope.STATE_SCOPE_APP, ref);
    } catch (ThreadkeepException error) {
      if (error.code() == Status.Code.PERMISSION_DENIED) {
        return Map.of();
      }
      throw error;
    }
  }

  private Map<String, String> state(StateScope scope, SessionRef ref) {
    return switch (scope) {
      case STATE_SCOPE_SESSION -> client.session(ref).state().get().getValuesMap();
      case STATE_SCOPE_APP -> client.appState(ref.getApp()).get().getValuesMap();
      default -> userState(ref);
    };
  }

  /** Returns the values of a user, whose app may be another than the client's. */
  private Map<String, String> userState(SessionRef ref) {
    Map<String, String> found = new HashMap<>();
    var request = GetStateRequest.newBuilder().setScope(StateScope.STATE_SCOPE_USER).setSession(ref.toBuilder().clearSessionId());
    String next;
    do {
      GetStateResponse page = client.call(StateServiceGrpc.getGetStateMethod(), request.build());
      found.putAll(page.getState().getValuesMap());
      next = page.getNextKey();
      request.setAfterKey(next);
    } while (!next.isEmpty());
    return found;
  }
}

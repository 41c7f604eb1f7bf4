package dev.threadkeep.spring.ai;

import dev.threadkeep.Reason;
import dev.threadkeep.SessionHandle;
import dev.threadkeep.ThreadkeepClient;
import dev.threadkeep.ThreadkeepException;
import dev.threadkeep.v1.Session;
import dev.threadkeep.v1.SessionRef;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/**
 * Finds sessions by their id alone: Spring's calls name no user. The owner of a session is looked up once and remembered; if the
 * session is not found under the remembered owner, it is looked up again.
 */
final class Owners {
  private static final int REMEMBERED = 10_000;

  private final ThreadkeepClient client;
  private final SessionRef own;
  private final Map<String, String> owners = new LinkedHashMap<>(16, 0.75f, true) {
    private static final long serialVersionUID = 1;

    @Override
    protected boolean removeEldestEntry(Map.Entry<String, String> eldest) {
      return size() > REMEMBERED;
    }
  };

  Owners(ThreadkeepClient client) {
    this.client = client;
    this.own = client.session("").ref();
  }

  /** Returns the app of all sessions. */
  String app() {
    return own.getApp();
  }

  /** Returns a handle on a session of this user, without a call. */
  SessionHandle handle(String id, String userId) {
    return client.session(own.toBuilder().setUserId(userId).setSessionId(id).build());
  }

  /** Returns the result of a call on a session; empty if there is no such session. */
  <T> Optional<T> call(String id, Function<SessionHandle, T> call) {
    String owner = remembered(id);
    if (owner != null) {
      Optional<T> found = found(handle(id, owner), call);
      if (found.isPresent()) {
        return found;
      }
      forget(id);
    }
    return find(id).flatMap(session -> found(handle(id, session.getRef().getUserId()), call));
  }

  /** Returns a session as it is now; empty if there is none. */
  Optional<Session> find(String id) {
    List<Session> found = client
        .sessions(o -> o.allUsers().app(own.getApp()).sessionIdPrefix(id)).stream()
        .filter(session -> session.getRef().getSessionId().equals(id))
        .toList();
    Optional<Session> mine = found.stream().filter(session -> session.getRef().getUserId().equals(own.getUserId())).findAny();
    if (mine.isEmpty() && found.size() > 1) {
      throw new IllegalStateException("several users have a session " + id + "; give the client one of them");
    }
    Optional<Session> only = mine.or(() -> found.stream().findAny());
    only.ifPresent(session -> remember(id, session.getRef().getUserId()));
    return only;
  }

  synchronized void remember(String id, String userId) {
    owners.put(id, userId);
  }

  synchronized void forget(String id) {
    owners.remove(id);
  }

  private synchronized String remembered(String id) {
    return owners.get(id);
  }

  private static <T> Optional<T> found(SessionHandle session, Function<SessionHandle, T> call) {
    try {
      return Optional.ofNullable(call.apply(session));
    } catch (ThreadkeepException error) {
      if (error.reason() == Reason.SESSION_NOT_FOUND) {
        return Optional.empty();
      }
      throw error;
    }
  }
}

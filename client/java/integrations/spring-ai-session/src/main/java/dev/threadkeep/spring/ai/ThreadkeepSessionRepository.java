package dev.threadkeep.spring.ai;

import dev.threadkeep.Reason;
import dev.threadkeep.SessionHandle;
import dev.threadkeep.ThreadkeepClient;
import dev.threadkeep.ThreadkeepException;
import dev.threadkeep.filter.EventFilters;
import dev.threadkeep.v1.Expiry;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.springframework.ai.session.EventFilter;
import org.springframework.ai.session.Session;
import org.springframework.ai.session.SessionEvent;
import org.springframework.ai.session.SessionRepository;
import org.springframework.util.Assert;

/**
 * The session repository of Spring AI Session on a Threadkeep server. Sessions belong to the app of the client; the user of a
 * session is Spring's user id. Every message comes back equal, with media, tool calls and metadata.
 *
 * <p>Appends are serialized by the server and never fail because of another writer. An event that is appended again, with its id
 * and content, is stored once. Calls throw {@link ThreadkeepException}. The repository is thread-safe and valid as long as its
 * client, which it does not close.
 */
public final class ThreadkeepSessionRepository implements SessionRepository {
  private static final String EXPIRED = "spring.expires_at";
  private static final Duration SOON = Duration.ofMinutes(1);
  private static final int ATTEMPTS = 5;
  private static final int EVENTS_AT_ONCE = 1000;

  private final ThreadkeepClient client;
  private final Owners owners;

  /**
   * Creates the repository, without a call.
   *
   * @param client client whose app the sessions have; its user is preferred if several users have a session of one id
   */
  public ThreadkeepSessionRepository(ThreadkeepClient client) {
    this.client = client;
    this.owners = new Owners(client);
  }

  /**
   * Creates a session, or updates its user, expiry and metadata; its events stay. The time of creation is that of the first save.
   * Giving a session to another user requires a token with the role admin.
   *
   * @param session the session
   * @return the same session
   */
  @Override
  public Session save(Session session) {
    Assert.notNull(session, "session must not be null");
    for (int attempt = 1; ; attempt++) {
      try {
        Optional<dev.threadkeep.v1.Session> stored = owners.find(session.id());
        if (stored.isPresent()) {
          update(stored.get(), session);
        } else {
          create(session);
        }
        owners.remember(session.id(), session.userId());
        return session;
      } catch (ThreadkeepException error) {
        boolean raced = error.reason() == Reason.SESSION_ALREADY_EXISTS || error.reason() == Reason.SESSION_NOT_FOUND;
        if (!raced || attempt == ATTEMPTS) {
          throw error;
        }
      }
    }
  }

  private void create(Session session) {
    Instant now = Instant.now();
    owners.handle(session.id(), session.userId()).create(o -> {
      o.uniqueInApp().metadata(Values.write(session.metadata())).with(request -> {
        request.setExpiry(expiry(session, now)).putAllLabels(labels(session, now));
        if (!session.createdAt().isBefore(Instant.EPOCH) && !session.createdAt().isAfter(now)) {
          request.setCreateTime(SpringEvents.timestamp(session.createdAt()));
        }
      });
    });
  }

  private void update(dev.threadkeep.v1.Session stored, Session session) {
    SessionHandle before = owners.handle(session.id(), stored.getRef().getUserId());
    if (!stored.getRef().getUserId().equals(session.userId())) {
      before.move(session.userId());
    }
    Instant now = Instant.now();
    owners.handle(session.id(), session.userId()).update(o -> {
      o.metadata(Values.write(session.metadata())).with(request -> {
        request.setExpiry(expiry(session, now)).putAllSetLabels(labels(session, now));
        request.getUpdateMaskBuilder().addPaths("expiry");
        if (request.getSetLabelsCount() == 0) {
          request.addRemoveLabels(EXPIRED);
        }
      });
    });
  }

  /** A session that is expired already is deleted by the server's sweep, not before a minute. */
  private static Expiry expiry(Session session, Instant now) {
    if (session.expiresAt() == null) {
      return Expiry.newBuilder().setNeverExpires(true).build();
    }
    Instant time = isPast(session, now) ? now.plus(SOON) : session.expiresAt();
    return Expiry.newBuilder().setExpireTime(SpringEvents.timestamp(time)).build();
  }

  private static Map<String, String> labels(Session session, Instant now) {
    return isPast(session, now) ? Map.of(EXPIRED, session.expiresAt().toString()) : Map.of();
  }

  private static boolean isPast(Session session, Instant now) {
    return session.expiresAt() != null && session.expiresAt().isBefore(now.plus(SOON));
  }

  @Override
  public Session findById(String sessionId) {
    Assert.hasText(sessionId, "sessionId must not be null or empty");
    return owners.call(sessionId, SessionHandle::get).map(ThreadkeepSessionRepository::read).orElse(null);
  }

  @Override
  public List<Session> findByUserId(String userId) {
    Assert.hasText(userId, "userId must not be null or empty");
    return client.sessions(o -> o.userId(userId).app(owners.app())).stream().map(ThreadkeepSessionRepository::read).toList();
  }

  /**
   * Returns the ids of expired sessions. It reads all sessions of the app; the server deletes expired ones itself, so that a program
   * need not call it.
   *
   * @param before time before which the sessions expired
   * @return their ids
   */
  @Override
  public List<String> findExpiredSessionIds(Instant before) {
    Assert.notNull(before, "before must not be null");
    return client.sessions(o -> o.allUsers().app(owners.app())).stream()
        .map(ThreadkeepSessionRepository::read)
        .filter(session -> session.expiresAt() != null && session.expiresAt().isBefore(before))
        .map(Session::id)
        .toList();
  }

  @Override
  public void delete(String sessionId) {
    Assert.hasText(sessionId, "sessionId must not be null or empty");
    owners.find(sessionId).ifPresent(session -> owners.handle(sessionId, session.getRef().getUserId()).delete());
    owners.forget(sessionId);
  }

  @Override
  public void appendEvent(SessionEvent event) {
    Assert.notNull(event, "event must not be null");
    var written = SpringEvents.write(event);
    owners.call(event.getSessionId(), session -> session.append(written)).orElseThrow(() -> unknown(event.getSessionId()));
  }

  /**
   * Archives and inserts events, if nothing was committed since {@code expectedVersion}. Active events that are in neither list
   * leave the window: summaries are not returned any more, other events are archived, so no message is lost.
   *
   * @param sessionId id of the session
   * @param archivedEvents events to archive
   * @param retainedEvents the new window, in order; an event that is stored keeps its content and its place
   * @param expectedVersion result of {@link #getEventVersion}, from before the events were read
   * @return whether the version was still the expected one
   */
  @Override
  public boolean compactEvents(String sessionId, List<SessionEvent> archivedEvents, List<SessionEvent> retainedEvents, long expectedVersion) {
    Assert.hasText(sessionId, "sessionId must not be null or empty");
    Assert.notNull(archivedEvents, "archivedEvents must not be null");
    Assert.notNull(retainedEvents, "retainedEvents must not be null");
    return owners.call(sessionId, session -> Compactions.apply(session, retainedEvents, expectedVersion)).orElseThrow(() -> unknown(sessionId));
  }

  /**
   * Returns the log version of the session: it increases with each append and compaction, also of other frameworks.
   *
   * @param sessionId id of the session
   * @return the version; 0 for an unknown session and for one without events
   */
  @Override
  public long getEventVersion(String sessionId) {
    Assert.hasText(sessionId, "sessionId must not be null or empty");
    return owners.call(sessionId, session -> session.get().getLogVersion()).orElse(0L);
  }

  @Override
  public List<SessionEvent> findEvents(String sessionId, EventFilter filter) {
    Assert.hasText(sessionId, "sessionId must not be null or empty");
    Assert.notNull(filter, "filter must not be null");
    // A list of an unknown session is empty, which says nothing about a remembered owner.
    return owners.call(sessionId, session -> {
      List<SessionEvent> found = found(session, filter);
      return found.isEmpty() ? null : found;
    }).orElse(List.of());
  }

  private static List<SessionEvent> found(SessionHandle session, EventFilter filter) {
    EventFilters selected = filters(filter);
    if (filter.lastN() != null) {
      int most = filter.lastN();
      var newest = session.events(o -> o.filter(selected).newestFirst().pageSize(Math.min(most, EVENTS_AT_ONCE))).stream();
      List<SessionEvent> found = new ArrayList<>(shown(session, newest, true).limit(most).toList());
      Collections.reverse(found);
      return List.copyOf(found);
    }
    long wanted = filter.pageSize() == null ? EVENTS_AT_ONCE : (filter.page() + 1L) * filter.pageSize();
    int atOnce = (int) Math.min(wanted, EVENTS_AT_ONCE);
    Stream<SessionEvent> all = shown(session, session.events(o -> o.filter(selected).pageSize(atOnce)).stream(), false);
    if (filter.pageSize() == null) {
      return all.toList();
    }
    return all.skip((long) filter.page() * filter.pageSize()).limit(filter.pageSize()).toList();
  }

  private static Stream<SessionEvent> shown(SessionHandle session, Stream<dev.threadkeep.v1.SessionEvent> events, boolean backwards) {
    return events
        .filter(event -> !event.getErased() && !(event.getArchived() && event.getSynthetic()))
        .flatMap(event -> {
          List<SessionEvent> read = SpringEvents.read(session.id(), event);
          return backwards && read.size() > 1 ? Stream.of(read.get(1), read.get(0)) : read.stream();
        });
  }

  private static EventFilters filters(EventFilter filter) {
    EventFilters found = EventFilters.all();
    if (filter.from() != null) {
      found.fromTime(filter.from());
    }
    if (filter.to() != null) {
      found.toTime(filter.to());
    }
    if (filter.messageTypes() != null) {
      found.roles(filter.messageTypes().stream().map(SpringEvents::role).toArray(dev.threadkeep.v1.Role[]::new));
    }
    if (filter.excludeSynthetic()) {
      found.excludeSynthetic();
    }
    if (filter.keyword() != null) {
      found.keyword(filter.keyword());
    }
    if (filter.branch() != null) {
      found = filter.branch().isEmpty() ? found.exactBranch("") : found.branch(filter.branch());
    }
    return filter.excludeArchived() ? found.active() : found;
  }

  private static Session read(dev.threadkeep.v1.Session stored) {
    String expired = stored.getLabelsMap().get(EXPIRED);
    Instant expires = stored.hasExpireTime() ? SpringEvents.instant(stored.getExpireTime()) : null;
    Map<String, Object> metadata = Values.read(stored.getMetadataJson());
    metadata.values().removeIf(java.util.Objects::isNull); // Spring's metadata has none
    return Session.builder()
        .id(stored.getRef().getSessionId())
        .userId(stored.getRef().getUserId())
        .createdAt(SpringEvents.instant(stored.getCreateTime()))
        .expiresAt(expired == null ? expires : Instant.parse(expired))
        .metadata(metadata)
        .build();
  }

  private static IllegalArgumentException unknown(String sessionId) {
    return new IllegalArgumentException("Session not found: " + sessionId);
  }
}

package dev.threadkeep.spring.ai;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.threadkeep.ThreadkeepClient;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.ai.chat.messages.UserMessage;
import org.springframework.ai.session.EventFilter;
import org.springframework.ai.session.Session;
import org.springframework.ai.session.SessionEvent;

/** The rules of SessionRepository about sessions, appends and versions, against a server. */
class RepositoryTest {
  private static final String APP = "spring-" + UUID.randomUUID();
  private static ThreadkeepClient client;
  private static ThreadkeepSessionRepository repository;

  @BeforeAll
  static void open() {
    client = ThreadkeepClient.builder().address(System.getenv("THREADKEEP_TEST_ADDRESS")).app(APP).build();
    repository = new ThreadkeepSessionRepository(client);
  }

  @AfterAll
  static void close() {
    client.close();
  }

  private static Session saved(String user) {
    return repository.save(Session.builder().id(UUID.randomUUID().toString()).userId(user).build());
  }

  private static SessionEvent event(Session session, String text) {
    return SessionEvent.builder().sessionId(session.id()).message(new UserMessage(text)).build();
  }

  private static List<String> texts(Session session) {
    return repository.findEvents(session.id(), EventFilter.all()).stream().map(each -> each.getMessage().getText()).toList();
  }

  private static void assertSame(Session expected, Session found) {
    assertEquals(expected.id(), found.id());
    assertEquals(expected.userId(), found.userId());
    assertEquals(expected.createdAt(), found.createdAt());
    assertEquals(expected.expiresAt(), found.expiresAt());
    assertEquals(expected.metadata(), found.metadata());
  }

  @Test
  void savedSessionIsFoundWithAllItsFields() {
    Map<String, Object> metadata = Map.of("model", "m1", "count", 3, "long", 3L, "score", 0.5, "tags", List.of("a", "b"),
        "at", Instant.ofEpochSecond(1, 7), "nested", Map.of("on", true));
    Session session = repository.save(Session.builder().id(UUID.randomUUID().toString()).userId("ada")
        .createdAt(Instant.parse("2024-02-29T10:00:00.123456789Z")).metadata(metadata).build());
    assertSame(session, repository.findById(session.id()));
    assertSame(session, new ThreadkeepSessionRepository(client).findById(session.id()));
  }

  @Test
  void sessionWithoutExpiryNeverExpires() {
    Session session = repository.save(Session.builder().id(UUID.randomUUID().toString()).userId("ada").expiresAt(null).build());
    assertNull(repository.findById(session.id()).expiresAt());
  }

  @Test
  void unknownSessionIsNull() {
    assertNull(repository.findById("never-made"));
    Session longer = saved("ada");
    assertNull(repository.findById(longer.id().substring(0, 8)));
  }

  @Test
  void secondSaveUpdatesMetadataAndExpiryAndKeepsEvents() {
    Session session = saved("ada");
    repository.appendEvent(event(session, "kept"));
    Session changed = repository.save(Session.builder().id(session.id()).userId("ada").createdAt(session.createdAt())
        .expiresAt(session.expiresAt().plus(Duration.ofDays(1))).metadata(Map.of("title", "Trip")).build());
    assertSame(changed, repository.findById(session.id()));
    assertEquals(List.of("kept"), texts(session));
    assertEquals(1, repository.getEventVersion(session.id()));
  }

  @Test
  void saveWithAnotherUserMovesTheSessionWithItsEvents() {
    Session session = saved("ada-before");
    repository.appendEvent(event(session, "mine"));
    repository.save(Session.builder().id(session.id()).userId("bob-after").build());
    assertEquals("bob-after", repository.findById(session.id()).userId());
    assertEquals(List.of("mine"), texts(session));
    assertTrue(repository.findByUserId("ada-before").isEmpty());
  }

  @Test
  void ownerIsTheUserOfTheServer() {
    Session session = saved("natural");
    assertEquals("natural", client.sessions(o -> o.userId("natural")).iterator().next().getRef().getUserId());
    assertEquals(List.of(session.id()), repository.findByUserId("natural").stream().map(Session::id).toList());
    assertTrue(repository.findByUserId("natura").isEmpty());
  }

  @Test
  void sameIdOfAnotherAppIsAnotherSession() {
    Session session = saved("ada");
    try (var other = ThreadkeepClient.builder().address(System.getenv("THREADKEEP_TEST_ADDRESS")).app(APP + "-2").build()) {
      assertNull(new ThreadkeepSessionRepository(other).findById(session.id()));
    }
  }

  @Test
  void deletedSessionHasNoEventsAndCanBeMadeAgain() {
    Session session = saved("ada");
    repository.appendEvent(event(session, "gone"));
    repository.delete(session.id());
    repository.delete(session.id());
    assertNull(repository.findById(session.id()));
    assertEquals(List.of(), texts(session));
    assertEquals(0, repository.getEventVersion(session.id()));
    repository.save(Session.builder().id(session.id()).userId("bob").build());
    assertEquals(List.of(), texts(session));
  }

  @Test
  void sessionThatAnotherProcessGaveAwayIsFoundAgain() {
    Session session = saved("ada");
    repository.appendEvent(event(session, "first"));
    var elsewhere = new ThreadkeepSessionRepository(client);
    elsewhere.delete(session.id());
    elsewhere.save(Session.builder().id(session.id()).userId("bob").build());
    repository.appendEvent(event(session, "second"));
    assertEquals(List.of("second"), texts(session));
  }

  @Test
  void expiredSessionsAreListedByTheirIds() {
    Instant now = Instant.now();
    Session past = repository.save(Session.builder().id(UUID.randomUUID().toString()).userId("late").expiresAt(now.minusSeconds(9)).build());
    Session future = repository.save(Session.builder().id(UUID.randomUUID().toString()).userId("late").expiresAt(now.plusSeconds(900)).build());
    assertEquals(past.expiresAt(), repository.findById(past.id()).expiresAt());
    List<String> expired = repository.findExpiredSessionIds(now);
    assertTrue(expired.contains(past.id()));
    assertFalse(expired.contains(future.id()));
    assertTrue(repository.findExpiredSessionIds(now.plusSeconds(901)).contains(future.id()));
    assertFalse(repository.findExpiredSessionIds(past.expiresAt()).contains(past.id()));
  }


  @Test
  void appendToAnUnknownSessionIsRefused() {
    Session never = Session.builder().id("never-made").userId("ada").build();
    assertThrows(IllegalArgumentException.class, () -> repository.appendEvent(event(never, "lost")));
    assertThrows(IllegalArgumentException.class, () -> repository.compactEvents("never-made", List.of(), List.of(), 0));
    assertEquals(List.of(), repository.findEvents("never-made", EventFilter.all()));
  }

  @Test
  void versionIncreasesByOneWithEachAppend() {
    Session session = saved("ada");
    assertEquals(0, repository.getEventVersion(session.id()));
    repository.appendEvent(event(session, "one"));
    assertEquals(1, repository.getEventVersion(session.id()));
    repository.appendEvent(event(session, "two"));
    assertEquals(2, repository.getEventVersion(session.id()));
  }

  @Test
  void eventAppendedAgainIsStoredOnce() {
    Session session = saved("ada");
    SessionEvent event = event(session, "once");
    repository.appendEvent(event);
    repository.appendEvent(event);
    assertEquals(List.of("once"), texts(session));
  }

  @Test
  void concurrentFirstSavesAndAppendsAreAllKept() {
    String id = UUID.randomUUID().toString();
    Session session = Session.builder().id(id).userId("ada").build();
    List<CompletableFuture<Void>> writers = new ArrayList<>();
    for (int i = 0; i < 16; i++) {
      String text = "w" + i;
      writers.add(CompletableFuture.runAsync(() -> {
        repository.save(session);
        repository.appendEvent(event(session, text));
      }));
    }
    writers.forEach(CompletableFuture::join);
    assertEquals(16, texts(session).size());
    assertEquals(16, repository.getEventVersion(id));
  }
}

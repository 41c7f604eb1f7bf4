package dev.threadkeep.adk;

import static dev.threadkeep.adk.Talk.ALL;
import static dev.threadkeep.adk.Talk.USER;
import static dev.threadkeep.adk.Talk.said;
import static dev.threadkeep.adk.Talk.unique;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.adk.sessions.GetSessionConfig;
import com.google.adk.sessions.Session;
import com.google.adk.sessions.SessionException;
import com.google.adk.sessions.SessionKey;
import com.google.adk.sessions.SessionNotFoundException;
import io.reactivex.rxjava3.core.Single;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The rules of BaseSessionService about sessions, against a server. */
class SessionsTest extends WithService {
  private Session create(String user, String id) {
    return service.createSession(app, user, Map.of("k", "v"), id).blockingGet();
  }

  private boolean exists(String user, String id) {
    return !service.getSession(app, user, id, ALL).isEmpty().blockingGet();
  }

  private Session read(GetSessionConfig.Builder config, String id) {
    return service.getSession(app, USER, id, Optional.of(config.build())).blockingGet();
  }

  @Test
  void createdSessionIsReadEqual() {
    Session created = create(USER, "s1");
    assertEquals(created.toJson(), Talk.read(service, created).toJson());
    assertTrue(Duration.between(created.lastUpdateTime(), Instant.now()).abs().toSeconds() < 60);
  }

  @Test
  void unknownSessionIsEmpty() {
    assertFalse(exists(USER, "never-made"));
    assertFalse(exists(USER, " "));
  }

  @Test
  void existingIdIsRefused() {
    create(USER, "s1");
    String said = assertThrows(SessionException.class, () -> create(USER, "s1")).getMessage();
    assertTrue(said.contains("already exists"), said);
  }

  @Test
  void ofConcurrentCreationsOfAnIdOneWins() {
    var made = IntStream.range(0, 8).mapToObj(i -> service.createSession(app, USER, Map.of(), "s1").map(each -> 1).onErrorReturnItem(0)).toList();
    assertEquals(1, Single.merge(made).reduce(Integer::sum).blockingGet());
  }

  @Test
  void paddedIdIsStrippedOnCreateGetAndDelete() {
    assertEquals("s1", create(USER, " s1 ").id());
    assertTrue(exists(USER, " s1 "));
    service.deleteSession(app, USER, " s1 ").blockingAwait();
    assertFalse(exists(USER, "s1"));
  }

  @Test
  void blankAndMissingIdsAreGenerated() {
    assertFalse(create(USER, " ").id().isBlank());
    assertFalse(service.createSession(app, USER).blockingGet().id().isBlank());
  }

  @Test
  void overloadsOfTheInterfaceCreateReadListAndDelete() {
    var key = new SessionKey(app, USER, "s1");
    assertEquals(Map.of("k", 1), service.createSession(key, new ConcurrentHashMap<>(Map.of("k", 1))).blockingGet().state());
    assertEquals("s1", service.getSession(key, null).blockingGet().id());
    assertEquals(List.of("s1"), service.listSessions(key).blockingGet().sessionIds());
    assertEquals(List.of(), service.listEvents(key).blockingGet().events());
    service.closeSession(service.getSession(key, null).blockingGet()).blockingAwait();
    service.deleteSession(key).blockingAwait();
    assertTrue(service.getSession(key, null).isEmpty().blockingGet());
  }

  @Test
  void idIsThatOfTwoSessionsUnderTwoUsers() {
    create("ada", "s1");
    create("bob", "s1");
    service.deleteSession(app, "ada", "s1").blockingAwait();
    assertFalse(exists("ada", "s1"));
    assertTrue(exists("bob", "s1"));
  }

  @Test
  void deletionOfAnUnknownSessionDoesNothing() {
    service.deleteSession(app, USER, "never-made").blockingAwait();
    service.deleteSession(app, USER, "").blockingAwait();
  }

  @Test
  void listIsOldestUpdateFirstAndTiesAreById() {
    for (String id : List.of("c", "b", "a", "later")) {
      long time = id.equals("later") ? 2_000 : 1_000;
      service.appendEvent(create(USER, id), said("user", id).timestamp(time).build()).blockingGet();
    }
    assertEquals(List.of("a", "b", "c", "later"), service.listSessions(app, USER).blockingGet().sessionIds());
  }

  @Test
  void listedSessionHasMergedStateAndTimeAndNoEvents() {
    Session session = service.createSession(app, USER, Map.of("mine", 1, "user:ours", 2, "app:all", 3), "s1").blockingGet();
    service.appendEvent(session, said("user", "Hi.").timestamp(1_234).build()).blockingGet();
    Session listed = service.listSessions(app, USER).blockingGet().sessions().get(0);
    assertEquals(Map.of("mine", 1, "user:ours", 2, "app:all", 3), listed.state());
    assertEquals(Instant.ofEpochMilli(1_234), listed.lastUpdateTime());
    assertEquals(List.of(), listed.events());
  }

  @Test
  void listOfAnUnknownAppOrUserIsEmpty() {
    assertEquals(List.of(), service.listSessions(app, "nobody").blockingGet().sessions());
    assertEquals(List.of(), service.listSessions(unique(), USER).blockingGet().sessions());
    assertEquals(List.of(), service.listSessions(app, "").blockingGet().sessions());
  }

  @Test
  void listIsLongerThanAPage() {
    Talk.all(IntStream.range(0, 203).mapToObj(i -> service.createSession(app, USER)).toList());
    assertEquals(203, service.listSessions(app, USER).blockingGet().sessions().size());
  }

  @Test
  void configSelectsTheNewestEventsAndOfTheseThoseSinceATime() {
    Session session = create(USER, "s1");
    for (int i = 1; i <= 4; i++) {
      service.appendEvent(session, said("user", "m" + i).timestamp(i * 1000).build()).blockingGet();
    }
    assertEquals(List.of("m3", "m4"), Talk.texts(read(GetSessionConfig.builder().numRecentEvents(2), "s1")));
    assertEquals(List.of("m2", "m3", "m4"), Talk.texts(read(GetSessionConfig.builder().afterTimestamp(Instant.ofEpochMilli(2000)), "s1")));
    assertEquals(List.of("m4"), Talk.texts(read(GetSessionConfig.builder().numRecentEvents(2).afterTimestamp(Instant.ofEpochMilli(3500)), "s1")));
    Session none = read(GetSessionConfig.builder().numRecentEvents(0), "s1");
    assertEquals(List.of(), none.events());
    assertEquals(Instant.ofEpochMilli(4000), none.lastUpdateTime());
    assertThrows(IllegalArgumentException.class, () -> read(GetSessionConfig.builder().numRecentEvents(-1), "s1"));
  }

  @Test
  void listEventsReturnsAllAndFailsForAnUnknownSession() {
    Session session = create(USER, "s1");
    var event = said("user", "Hi.").build();
    service.appendEvent(session, event).blockingGet();
    var listed = service.listEvents(app, USER, "s1").blockingGet();
    assertEquals(List.of(event), listed.events());
    assertTrue(listed.nextPageToken().isEmpty());
    assertThrows(SessionNotFoundException.class, () -> service.listEvents(app, USER, "never-made").blockingGet());
  }

  @Test
  void sessionOfManyPagesComesWhole() {
    Session session = create(USER, "s1");
    Talk.all(IntStream.range(0, 1003).mapToObj(i -> service.appendEvent(session, said("user", "m" + i).build())).toList());
    assertEquals(Talk.texts(session), Talk.texts(Talk.read(service, session)));
  }

  @Test
  void sessionWhoseSharedStateIsRefusedIsNotCreated() {
    Map<String, Object> refused = Map.of("user:" + "k".repeat(300), 1);
    assertThrows(SessionException.class, () -> service.createSession(app, USER, refused, "s1").blockingGet());
    assertFalse(exists(USER, "s1"));
  }

  @Test
  void optionsOfCreationAreThoseOfEverySession() {
    var kept = new ThreadkeepSessionService(client, o -> o.neverExpires().label("team", "travel"));
    Session session = kept.createSession(app, USER).blockingGet();
    var stored = client.session(dev.threadkeep.v1.SessionRef.newBuilder().setApp(app).setUserId(USER).setSessionId(session.id()).build()).get();
    assertFalse(stored.hasExpireTime());
    assertEquals(Map.of("team", "travel"), stored.getLabelsMap());
  }

  @Test
  void callIsMadeOnSubscriptionAndItsDisposalIsSilent() {
    Single<Session> later = service.createSession(app, USER, Map.of(), "s1");
    assertFalse(exists(USER, "s1"));
    later.subscribe(made -> {}, error -> {}).dispose();
    later.onErrorComplete().ignoreElement().blockingAwait();
    assertTrue(exists(USER, "s1"));
  }
}

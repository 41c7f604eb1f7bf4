package dev.threadkeep.adk;

import static dev.threadkeep.adk.Talk.USER;
import static dev.threadkeep.adk.Talk.changed;
import static dev.threadkeep.adk.Talk.created;
import static dev.threadkeep.adk.Talk.read;
import static dev.threadkeep.adk.Talk.said;
import static dev.threadkeep.adk.Talk.texts;
import static dev.threadkeep.adk.Talk.unique;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.adk.events.Event;
import com.google.adk.events.EventActions;
import com.google.adk.sessions.Session;
import com.google.adk.sessions.SessionException;
import com.google.adk.sessions.SessionNotFoundException;
import com.google.adk.sessions.State;
import dev.threadkeep.v1.SessionRef;
import io.reactivex.rxjava3.core.Single;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The rules of appendEvent and of state, against a server. */
class AppendsTest extends WithService {
  private static Event append(Session session, Event event) {
    return service.appendEvent(session, event).blockingGet();
  }

  private Session other() {
    return service.createSession(app, USER).blockingGet();
  }

  @Test
  void sessionAfterAnAppendIsReadEqual() {
    Session session = created(service, app);
    Event event = said("user", "Hi.").actions(EventActions.builder().stateDelta(Map.of("k", 1, "user:u", "x", "app:a", true)).build()).build();
    assertSame(event, append(session, event));
    assertEquals(session.toJson(), read(service, session).toJson());
  }

  @Test
  void updateTimeIsThatOfTheEvent() {
    Session session = created(service, app);
    append(session, said("user", "Hi.").timestamp(1_000_007).build());
    assertEquals(Instant.ofEpochMilli(1_000_007), session.lastUpdateTime());
    assertEquals(Instant.ofEpochMilli(1_000_007), read(service, session).lastUpdateTime());
  }

  @Test
  void writersWithOldSessionObjectsAreNeverStaleAndLoseNothing() {
    Session session = created(service, app);
    var copies = IntStream.range(0, 8).mapToObj(i -> read(service, session)).toList();
    List<Single<Event>> appends = new ArrayList<>();
    for (int i = 0; i < 64; i++) {
      appends.add(service.appendEvent(copies.get(i % 8), said("user", "m" + i).build()));
    }
    Talk.all(appends);
    List<String> stored = texts(read(service, session));
    assertEquals(64, stored.size());
    assertEquals(64, new HashSet<>(stored).size());
  }

  @Test
  void concurrentAppendsOfOneSessionObjectHaveTheOrderOfTheLog() {
    Session session = created(service, app);
    Talk.all(IntStream.range(0, 32).mapToObj(i -> service.appendEvent(session, said("user", "m" + i).build())).toList());
    assertEquals(texts(session), texts(read(service, session)));
  }

  @Test
  void eventOfThePastIsReadLastAndEqualTimesKeepTheirOrder() {
    Session session = created(service, app);
    append(session, said("user", "first").timestamp(5_000).build());
    append(session, said("user", "second").timestamp(5_000).build());
    append(session, said("user", "past").timestamp(1_000).build());
    assertEquals(List.of("first", "second", "past"), texts(read(service, session)));
  }

  @Test
  void appendToADeletedSessionFails() {
    Session session = created(service, app);
    service.deleteSession(app, USER, session.id()).blockingAwait();
    assertThrows(SessionNotFoundException.class, () -> append(session, said("user", "Hi.").build()));
    assertEquals(List.of(), session.events());
  }

  @Test
  void partialEventIsNotStored() {
    Session session = created(service, app);
    Event partial = said("agent", "He").partial(true).build();
    assertSame(partial, append(session, partial));
    assertEquals(List.of(), session.events());
    assertEquals(List.of(), read(service, session).events());
  }

  @Test
  void eventDeliveredAgainIsStoredOnce() {
    Session session = created(service, app);
    Event event = said("user", "Hi.").build();
    append(session, event);
    append(session, event);
    append(read(service, session), event);
    assertEquals(List.of("Hi."), texts(session));
    assertEquals(List.of("Hi."), texts(read(service, session)));
  }

  @Test
  void otherEventWithAStoredIdIsRefused() {
    Session session = created(service, app);
    append(session, said("user", "Hi.").id("e1").build());
    String message = assertThrows(SessionException.class, () -> append(session, said("user", "Ho.").id("e1").build())).getMessage();
    assertTrue(message.contains("id"), message);
    assertEquals(List.of("Hi."), texts(session));
    assertFalse(message.contains("Ho."), "payload is not in messages");
  }

  @Test
  void eventWithoutAnIdGetsOne() {
    Session session = created(service, app);
    Event event = Event.builder().author("user").invocationId("i1").build();
    append(session, event);
    assertFalse(event.id().isEmpty());
    assertEquals(event.id(), read(service, session).events().get(0).id());
  }

  @Test
  void stateIsSharedByScopeAndTemporaryKeysAreInTheCallersSessionOnly() {
    Session session = created(service, app);
    append(session, changed(Map.of("mine", 1, "user:ours", 2, "app:all", 3, "temp:now", 4)));
    assertEquals(Map.of("mine", 1, "user:ours", 2, "app:all", 3, "temp:now", 4), session.state());
    assertEquals(Map.of("mine", 1, "user:ours", 2, "app:all", 3), read(service, session).state());
    assertEquals(Map.of("user:ours", 2, "app:all", 3), other().state());
    assertEquals(Map.of("app:all", 3), service.createSession(app, "someone else").blockingGet().state());
    assertEquals(Map.of(), service.createSession(unique(), USER).blockingGet().state());
    assertFalse(read(service, session).events().get(0).actions().stateDelta().containsKey("temp:now"));
  }

  @Test
  void temporaryKeysOfANewSessionAreNotStored() {
    assertEquals(Map.of("k", 1), service.createSession(app, USER, Map.of("k", 1, "temp:now", 2), null).blockingGet().state());
  }

  @Test
  void removedKeyIsGoneInEveryScopeAndItsEventSaysSo() {
    Session session = service.createSession(app, USER, Map.of("a", 1, "user:a", 1, "app:a", 1, "kept", 1), null).blockingGet();
    Event event = changed(Map.of("a", State.REMOVED, "user:a", State.REMOVED, "app:a", State.REMOVED));
    append(session, event);
    assertEquals(Map.of("kept", 1), session.state());
    Session stored = read(service, session);
    assertEquals(Map.of("kept", 1), stored.state());
    assertEquals(event, stored.events().get(0));
  }

  @Test
  void nullOfAnotherLanguageIsNoKey() {
    Session session = created(service, app);
    var ref = SessionRef.newBuilder().setApp(app).setUserId(USER).setSessionId(session.id()).build();
    client.session(ref).state().patch(patch -> patch.putSet("null", "null").putSet("one", "1"));
    assertEquals(Map.of("one", 1), read(service, session).state());
  }

  @Test
  void mappingInADeltaReplacesTheWholeValueAndBooleansStay() {
    Session session = created(service, app);
    append(session, changed(Map.of("m", Map.of("a", 1, "b", 2), "flag", true)));
    append(session, changed(Map.of("m", Map.of("c", 3))));
    assertEquals(Map.of("m", Map.of("c", 3), "flag", true), read(service, session).state());
  }

  @Test
  void valuesComeBackEqual() {
    Map<String, Object> values = Map.of("long", Long.MAX_VALUE, "double", 0.1, "text", "ü\u0000\"🌞", "list", List.of(1, "a", List.of()), "empty", Map.of());
    Session session = created(service, app);
    append(session, changed(values));
    assertEquals(values, read(service, session).state());
  }

  @Test
  void valueThatJsonRejectsBecomesItsStringFormAndTheRestSurvives() {
    Object odd = new Object() {
      @Override
      public String toString() {
        return "odd";
      }
    };
    Session session = created(service, app);
    append(session, said("user", "Hi.").actions(EventActions.builder().stateDelta(Map.of("odd", odd, "k", 1)).build()).build());
    Session stored = read(service, session);
    assertEquals(Map.of("odd", "odd", "k", 1), stored.state());
    assertEquals(Map.of("odd", "odd", "k", 1), stored.events().get(0).actions().stateDelta());
    assertEquals(List.of("Hi."), texts(stored));
  }

  @Test
  void stateOfARefusedAppendIsUnchanged() {
    Session session = created(service, app);
    append(session, said("user", "Hi.").id("e1").build());
    Event other = changed(Map.of("k", 1));
    other.setId("e1");
    assertThrows(SessionException.class, () -> append(session, other));
    assertEquals(Map.of(), session.state());
    assertEquals(Map.of(), read(service, session).state());
  }

  @Test
  @SuppressWarnings("deprecation") // the overload that ADK's own callers still use
  void nullStateIsNone() {
    assertEquals(Map.of(), service.createSession(app, USER, (ConcurrentHashMap<String, Object>) null, null).blockingGet().state());
    assertEquals(Map.of(), service.createSession(app, USER, new HashMap<>(), null).blockingGet().state());
  }
}

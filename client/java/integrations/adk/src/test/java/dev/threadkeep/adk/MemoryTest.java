package dev.threadkeep.adk;

import static dev.threadkeep.adk.Talk.USER;
import static dev.threadkeep.adk.Talk.created;
import static dev.threadkeep.adk.Talk.said;
import static dev.threadkeep.adk.Talk.unique;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.adk.events.Event;
import com.google.adk.memory.MemoryEntry;
import com.google.adk.sessions.Session;
import com.google.genai.types.Content;
import com.google.genai.types.Part;
import dev.threadkeep.v1.MemoryScope;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The rules of BaseMemoryService, against a server. */
class MemoryTest extends WithService {
  private static ThreadkeepMemoryService memory;

  @BeforeAll
  static void remember() {
    memory = new ThreadkeepMemoryService(client);
  }

  private Session remembered(Event... events) {
    Session session = created(service, app);
    for (Event event : events) {
      service.appendEvent(session, event).blockingGet();
    }
    memory.addSessionToMemory(session).blockingAwait();
    return session;
  }

  private List<MemoryEntry> found(ThreadkeepMemoryService where, String query) {
    return where.searchMemory(app, USER, query).blockingGet().memories();
  }

  private List<String> texts(String query) {
    return found(memory, query).stream().map(entry -> entry.content().text()).toList();
  }

  @Test
  void sessionIsFoundByItsWordsWithContentAuthorAndTime() {
    remembered(said("user", "My daughter is allergic to peanuts.").timestamp(1_000).build());
    MemoryEntry entry = found(memory, "PEANUTS, please").get(0);
    assertEquals("My daughter is allergic to peanuts.", entry.content().text());
    assertEquals(List.of("user", "1970-01-01T00:00:01Z"), List.of(entry.author(), entry.timestamp()));
    assertEquals("user", entry.content().role().get());
  }

  @Test
  void sessionAddedAgainAddsWhatIsNewAndLosesNothing() {
    Session session = remembered(said("user", "Lisbon in May").build());
    service.appendEvent(session, said("agent", "Lisbon it is").build()).blockingGet();
    memory.addSessionToMemory(session).blockingAwait();
    memory.addSessionToMemory(session).blockingAwait();
    assertEquals(2, texts("Lisbon").size());
  }

  @Test
  void deletedMemoryStaysDeletedWhenItsSessionIsAddedAgain() {
    Session session = remembered(said("user", "Lisbon in May").build());
    client.memory(MemoryScope.newBuilder().setApp(app).setUserId(USER).build()).deleteSession(session.id());
    memory.addSessionToMemory(session).blockingAwait();
    assertEquals(List.of(), texts("Lisbon"));
  }

  @Test
  void memoriesAreThoseOfTheUserInTheApp() {
    remembered(said("user", "Lisbon in May").build());
    assertEquals(List.of(), memory.searchMemory(app, "someone else", "Lisbon").blockingGet().memories());
    assertEquals(List.of(), memory.searchMemory(unique(), USER, "Lisbon").blockingGet().memories());
  }

  @Test
  void queryWithoutAMatchAndABlankOneFindNothingAndALongOneIsCut() {
    remembered(said("user", "Lisbon in May").build());
    assertEquals(List.of(), texts("zebra"));
    assertEquals(List.of(), texts(" "));
    assertEquals(List.of("Lisbon in May"), texts("Lisbon " + "🌞".repeat(2000)));
  }

  @Test
  void wordsOfEveryScriptAreFound() {
    remembered(said("user", "Zug nach Zürich").build(), said("user", "我对花生过敏").build());
    assertEquals(List.of("Zug nach Zürich"), texts("zürich"));
    assertEquals(List.of("我对花生过敏"), texts("花生"));
  }

  @Test
  void mostMatchingMemoryIsFirstAndThereAreAtMostTopK() {
    remembered(said("user", "tea").build(), said("user", "tea with milk and honey").build(), said("user", "milk and honey").build());
    assertEquals("tea with milk and honey", texts("tea milk honey").get(0));
    assertEquals(1, found(new ThreadkeepMemoryService(client, o -> o.topK(1)), "tea milk honey").size());
  }

  @Test
  void eventsWithoutTextAndThoughtsAreNotRemembered() {
    Content content = Content.builder().role("model").parts(Part.builder().text("secret peanuts").thought(true).build()).build();
    remembered(Event.builder().id("e1").author("agent").invocationId("i1").content(content).build(), Event.builder().id("e2").author("agent").invocationId("i1").build());
    assertEquals(List.of(), texts("peanuts"));
  }

  @Test
  void sessionOfAnotherServiceIsAddedOnce() {
    Content mixed = Content.builder().role("model").parts(Part.fromText("Window seat."), Part.builder().text("Hm, window.").thought(true).build()).build();
    Session session = Session.builder("elsewhere").appName(app).userId(USER).events(List.of(
        said("user", "A window seat, please.").build(), Event.builder().author("agent").content(mixed).timestamp(1_000).build(),
        Event.builder().id("empty").author("agent").build())).build();
    memory.addSessionToMemory(session).blockingAwait();
    memory.addSessionToMemory(session).blockingAwait();
    assertEquals(List.of("A window seat, please.", "Window seat."), texts("window").stream().sorted().toList());
  }

  @Test
  void toolOfAdkRecallsAnEarlierSession() {
    remembered(said("user", "My daughter is allergic to peanuts.").build());
    var call = com.google.genai.types.FunctionCall.builder().id("c1").name("loadMemory").args(java.util.Map.of("query", "peanuts")).build();
    var model = new Talk.Scripted(Talk.answer(Part.builder().functionCall(call).build()), Talk.answer(Part.fromText("No peanuts.")));
    var agent = com.google.adk.agents.LlmAgent.builder().name("helper").model(model).tools(new com.google.adk.tools.LoadMemoryTool()).build();
    var runner = com.google.adk.runner.Runner.builder().agent(agent).appName(app).sessionService(service).memoryService(memory)
        .artifactService(new com.google.adk.artifacts.InMemoryArtifactService()).build();
    var events = Talk.run(runner, created(service, app).id(), "What must she not eat?");
    assertTrue(events.get(1).functionResponses().get(0).response().get().toString().contains("allergic to peanuts"), events.toString());
  }
}

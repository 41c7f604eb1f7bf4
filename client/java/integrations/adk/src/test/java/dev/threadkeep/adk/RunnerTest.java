package dev.threadkeep.adk;

import static dev.threadkeep.adk.Talk.ALL;
import static dev.threadkeep.adk.Talk.USER;
import static dev.threadkeep.adk.Talk.answer;
import static dev.threadkeep.adk.Talk.created;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.adk.agents.LlmAgent;
import com.google.adk.agents.ParallelAgent;
import com.google.adk.agents.RunConfig;
import com.google.adk.agents.SequentialAgent;
import com.google.adk.apps.App;
import com.google.adk.artifacts.InMemoryArtifactService;
import com.google.adk.events.Event;
import com.google.adk.runner.Runner;
import com.google.adk.sessions.Session;
import com.google.adk.summarizer.EventsCompactionConfig;
import com.google.adk.tools.FunctionTool;
import com.google.adk.tools.ToolContext;
import com.google.genai.types.Content;
import com.google.genai.types.FunctionCall;
import com.google.genai.types.Part;
import io.reactivex.rxjava3.core.Flowable;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Runs of ADK's Runner, whose sessions are on a server. */
public class RunnerTest extends WithService {
  /** A tool. */
  public static Map<String, Object> weather(String city, ToolContext toolContext) {
    toolContext.state().put("user:last", city);
    toolContext.state().put("temp:calls", "one");
    return Map.of("celsius", 21);
  }

  private static Part call(String id, String city) {
    return Part.builder().functionCall(FunctionCall.builder().id(id).name("weather").args(Map.of("city", city)).build()).build();
  }

  private static LlmAgent named(String name, Talk.Scripted model) {
    return LlmAgent.builder().name(name).model(model).build();
  }

  private Runner runner(com.google.adk.agents.BaseAgent agent) {
    return Runner.builder().agent(agent).appName(app).sessionService(service).artifactService(new InMemoryArtifactService()).build();
  }

  private List<Event> stored(Session session) {
    return Talk.read(service, session).events();
  }

  @Test
  void runWithParallelToolsIsStoredAsItWas() {
    var model = new Talk.Scripted(answer(Part.fromText("Looking."), call("c1", "Oslo"), call("c2", "Lisbon")), answer(Part.fromText("Both 21.")));
    Session session = created(service, app);
    List<Event> events = Talk.run(Talk.runner(service, app, model, FunctionTool.create(RunnerTest.class, "weather")), session.id(), "Compare.");
    List<Event> stored = stored(session);
    assertEquals(events, stored.subList(1, stored.size()).stream().map(each -> events.get(stored.indexOf(each) - 1)).toList());
    assertEquals(List.of("user", "helper", "helper", "helper"), stored.stream().map(Event::author).toList());
    assertEquals(List.of("c1", "c2"), stored.get(2).functionResponses().stream().map(each -> each.id().get()).toList());
    assertTrue(List.of("Oslo", "Lisbon").contains(Talk.read(service, session).state().get("user:last")));
    assertEquals(4, stored.size());
  }

  @Test
  void runsContinueTheSessionAlsoOfAnotherService() {
    Session session = created(service, app);
    Talk.run(Talk.runner(service, app, new Talk.Scripted(answer(Part.fromText("Yes.")))), session.id(), "On time?");
    var model = new Talk.Scripted(answer(Part.fromText("B32.")));
    Talk.run(Talk.runner(new ThreadkeepSessionService(client), app, model), session.id(), "Which gate?");
    assertEquals(List.of("On time?", "Yes.", "Which gate?"), model.requests.get(0).stream().map(Content::text).toList());
  }

  @Test
  void missingSessionIsReportedOrCreated() {
    var runner = Talk.runner(service, app, new Talk.Scripted(answer(Part.fromText("Hi."))));
    assertThrows(IllegalArgumentException.class, () -> Talk.run(runner, "never-made", "Hello."));
    var config = RunConfig.builder().autoCreateSession(true).build();
    runner.runAsync(USER, "made", Content.fromParts(Part.fromText("Hello.")), config).blockingSubscribe();
    assertEquals(List.of("Hello.", "Hi."), Talk.texts(service.getSession(app, USER, "made", ALL).blockingGet()));
  }

  @Test
  void deltaOfARunIsStoredWithTheMessage() {
    Session session = created(service, app);
    var runner = Talk.runner(service, app, new Talk.Scripted(answer(Part.fromText("Hi."))));
    runner.runAsync(USER, session.id(), Content.fromParts(Part.fromText("Hello.")), RunConfig.builder().build(), Map.of("k", 1)).blockingSubscribe();
    assertEquals(Map.of("k", 1), Talk.read(service, session).state());
  }

  @Test
  void agentsInSequencePassTemporaryState() {
    Session session = created(service, app);
    var seen = new java.util.concurrent.atomic.AtomicReference<Object>();
    var first = LlmAgent.builder().name("first").model(new Talk.Scripted(answer(call("c1", "Oslo")), answer(Part.fromText("Done."))))
        .tools(FunctionTool.create(RunnerTest.class, "weather")).build();
    var second = LlmAgent.builder().name("second").model(new Talk.Scripted(answer(Part.fromText("Too."))))
        .beforeAgentCallbackSync(context -> {
          seen.set(context.state().get("temp:calls"));
          return java.util.Optional.empty();
        }).build();
    Talk.run(runner(SequentialAgent.builder().name("both").subAgents(first, second).build()), session.id(), "Go.");
    assertEquals("one", seen.get());
    assertEquals(Map.of("user:last", "Oslo"), Talk.read(service, session).state());
  }

  @Test
  void agentsInParallelAreAllStored() {
    Session session = created(service, app);
    var agents = List.of("a", "b", "c", "d").stream().map(name -> named(name, new Talk.Scripted(answer(Part.fromText("I am " + name))))).toList();
    Talk.run(runner(ParallelAgent.builder().name("all").subAgents(agents).build()), session.id(), "Go.");
    assertEquals(new HashSet<>(List.of("Go.", "I am a", "I am b", "I am c", "I am d")), new HashSet<>(Talk.texts(Talk.read(service, session))));
    assertEquals(5, stored(session).size());
  }

  @Test
  void twoRunnersOfOneSessionLoseNothing() {
    Session session = created(service, app);
    var runs = List.of("one", "two", "three", "four").stream().map(text -> Talk.runner(service, app, new Talk.Scripted(answer(Part.fromText("to " + text))))
        .runAsync(USER, session.id(), Content.fromParts(Part.fromText(text)))).toList();
    Flowable.merge(runs).blockingSubscribe();
    assertEquals(8, new HashSet<>(Talk.texts(Talk.read(service, session))).size());
  }

  @Test
  void compactionOfAdkIsAnEventAndTheNextRunSeesTheSummary() {
    var model = new Talk.Scripted(answer(Part.fromText("Yes.")), answer(Part.fromText("B32.")), answer(Part.fromText("summary of two")), answer(Part.fromText("Bye.")));
    var agent = named("helper", model);
    String name = "a" + app.replace("-", "");
    var config = EventsCompactionConfig.builder().compactionInterval(2).overlapSize(0)
        .summarizer(new com.google.adk.summarizer.LlmEventSummarizer(model)).build();
    var runner = Runner.builder().app(App.builder().name(name).rootAgent(agent).eventsCompactionConfig(config).build())
        .sessionService(service).artifactService(new InMemoryArtifactService()).build();
    Session session = created(service, name);
    Talk.run(runner, session.id(), "On time?");
    Talk.run(runner, session.id(), "Which gate?");
    List<Event> stored = stored(session);
    assertEquals(5, stored.size());
    assertTrue(stored.get(4).actions().compaction().isPresent());
    Talk.run(runner, session.id(), "Bye.");
    assertEquals(List.of("summary of two", "Bye."), model.requests.get(3).stream().map(Content::text).toList());
  }
}

package dev.threadkeep.adk;

import com.google.adk.agents.LlmAgent;
import com.google.adk.artifacts.InMemoryArtifactService;
import com.google.adk.events.Event;
import com.google.adk.events.EventActions;
import com.google.adk.models.BaseLlm;
import com.google.adk.models.BaseLlmConnection;
import com.google.adk.models.LlmRequest;
import com.google.adk.models.LlmResponse;
import com.google.adk.runner.Runner;
import com.google.adk.sessions.GetSessionConfig;
import com.google.adk.sessions.Session;
import com.google.genai.types.Content;
import com.google.genai.types.Part;
import dev.threadkeep.ThreadkeepClient;
import io.reactivex.rxjava3.core.Flowable;
import io.reactivex.rxjava3.core.Single;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;

/** Events, a scripted model, and shorter calls of the service. */
final class Talk {
  static final String USER = "u1";
  static final Optional<GetSessionConfig> ALL = Optional.empty();

  private Talk() {}

  static ThreadkeepClient client() {
    return ThreadkeepClient.builder().address(System.getenv("THREADKEEP_TEST_ADDRESS")).build();
  }

  static String unique() {
    return UUID.randomUUID().toString();
  }

  /** Returns an event of "user" or of an agent, with a text. */
  static Event.Builder said(String author, String text) {
    String role = author.equals("user") ? "user" : "model";
    Content content = Content.builder().role(role).parts(Part.fromText(text)).build();
    return Event.builder().id(unique()).invocationId("i1").author(author).content(content);
  }

  /** Returns an event of an agent that changes state. */
  static Event changed(Map<String, Object> delta) {
    return Event.builder().id(unique()).invocationId("i1").author("agent").actions(EventActions.builder().stateDelta(delta).build()).build();
  }

  static Session created(ThreadkeepSessionService service, String app) {
    return service.createSession(app, USER, Map.of(), null).blockingGet();
  }

  static Session read(ThreadkeepSessionService service, Session session) {
    return service.getSession(session.appName(), session.userId(), session.id(), ALL).blockingGet();
  }

  static List<String> texts(Session session) {
    return session.events().stream().flatMap(event -> event.content().flatMap(Content::parts).stream()).flatMap(List::stream)
        .flatMap(part -> part.text().stream()).toList();
  }

  /** Makes calls, eight at a time. */
  static <T> void all(List<Single<T>> calls) {
    Flowable.fromIterable(calls).flatMapSingle(call -> call, false, 8).ignoreElements().blockingAwait();
  }

  static Content answer(Part... parts) {
    return Content.builder().role("model").parts(parts).build();
  }

  static Runner runner(ThreadkeepSessionService service, String app, BaseLlm model, Object... tools) {
    var agent = LlmAgent.builder().name("helper").description("helps").model(model).tools(tools).build();
    return Runner.builder().agent(agent).appName(app).sessionService(service).artifactService(new InMemoryArtifactService()).build();
  }

  static List<Event> run(Runner runner, String sessionId, String text) {
    return runner.runAsync(USER, sessionId, Content.fromParts(Part.fromText(text))).toList().blockingGet();
  }

  /** A model that says what it was given, one answer after the other, and keeps the contents of its requests. */
  static final class Scripted extends BaseLlm {
    final List<List<Content>> requests = Collections.synchronizedList(new ArrayList<>());
    private final List<Content> answers;

    Scripted(Content... answers) {
      super("scripted");
      this.answers = List.of(answers);
    }

    @Override
    public Flowable<LlmResponse> generateContent(LlmRequest request, boolean stream) {
      return Flowable.fromCallable(() -> {
        requests.add(List.copyOf(request.contents()));
        return LlmResponse.builder().content(answers.get(requests.size() - 1)).build();
      });
    }

    @Override
    public BaseLlmConnection connect(LlmRequest request) {
      throw new UnsupportedOperationException();
    }
  }
}

import com.google.adk.agents.LlmAgent;
import com.google.adk.artifacts.InMemoryArtifactService;
import com.google.adk.events.Event;
import com.google.adk.models.BaseLlm;
import com.google.adk.models.BaseLlmConnection;
import com.google.adk.models.LlmRequest;
import com.google.adk.models.LlmResponse;
import com.google.adk.runner.Runner;
import com.google.adk.tools.FunctionTool;
import com.google.adk.tools.ToolContext;
import com.google.genai.types.Content;
import com.google.genai.types.FunctionCall;
import com.google.genai.types.Part;
import dev.threadkeep.ThreadkeepClient;
import dev.threadkeep.adk.ThreadkeepMemoryService;
import dev.threadkeep.adk.ThreadkeepSessionService;
import io.reactivex.rxjava3.core.Flowable;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;

/** An agent of ADK whose sessions, state and memory are on a Threadkeep server. Its model is a rule. */
public final class AdkChat {
  private AdkChat() {}

  /** A tool of the agent, which notes in the state of the user what was looked up. */
  public static Map<String, Object> gate(String flight, ToolContext toolContext) {
    toolContext.state().put("user:flight", flight);
    return Map.of("gate", "B32");
  }

  /** Runs the chat: the server is that of THREADKEEP_ADDRESS. */
  public static void main(String[] arguments) {
    try (var threadkeep = ThreadkeepClient.builder().build()) {
      var sessions = new ThreadkeepSessionService(threadkeep);
      var memory = new ThreadkeepMemoryService(threadkeep);
      var agent = LlmAgent.builder().name("clerk").model(new Rule()).tools(FunctionTool.create(AdkChat.class, "gate")).build();
      var runner = Runner.builder().agent(agent).appName("travel").sessionService(sessions).memoryService(memory)
          .artifactService(new InMemoryArtifactService()).build();
      String user = UUID.randomUUID().toString();
      String id = sessions.createSession("travel", user).blockingGet().id();
      for (String question : List.of("Which gate has BA117?", "Thank you.")) {
        System.out.println("user: " + question);
        for (Event event : runner.runAsync(user, id, Content.fromParts(Part.fromText(question))).blockingIterable()) {
          event.functionCalls().forEach(call -> System.out.println("  calls " + call.name().get() + " " + call.args().get()));
          event.functionResponses().forEach(result -> System.out.println("  gets " + result.response().get()));
          if (event.finalResponse()) {
            System.out.println("clerk: " + event.stringifyContent());
          }
        }
      }
      var session = sessions.getSession("travel", user, id, Optional.empty()).blockingGet();
      System.out.println(session.events().size() + " events, state " + Map.copyOf(session.state()));
      memory.addSessionToMemory(session).blockingAwait();
      System.out.println("remembered: " + memory.searchMemory("travel", user, "gate").blockingGet().memories().get(0).content().text());
    }
  }

  private static final class Rule extends BaseLlm {
    Rule() {
      super("rule");
    }

    @Override
    public Flowable<LlmResponse> generateContent(LlmRequest request, boolean stream) {
      int seen = request.contents().size();
      Part call = Part.builder().functionCall(FunctionCall.builder().id("c1").name("gate").args(Map.of("flight", "BA117")).build()).build();
      Part said = seen == 1 ? call : Part.fromText(seen == 3 ? "Gate B32." : "I see " + seen + " contents.");
      return Flowable.just(LlmResponse.builder().content(Content.builder().role("model").parts(said).build()).build());
    }

    @Override
    public BaseLlmConnection connect(LlmRequest request) {
      throw new UnsupportedOperationException();
    }
  }
}

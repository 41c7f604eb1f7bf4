package dev.threadkeep.spring.ai;

import dev.threadkeep.ThreadkeepClient;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Function;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.springframework.ai.chat.client.ChatClient;
import org.springframework.ai.chat.messages.AssistantMessage;
import org.springframework.ai.chat.messages.AssistantMessage.ToolCall;
import org.springframework.ai.chat.messages.Message;
import org.springframework.ai.chat.messages.ToolResponseMessage;
import org.springframework.ai.chat.model.ChatModel;
import org.springframework.ai.chat.model.ChatResponse;
import org.springframework.ai.chat.model.Generation;
import org.springframework.ai.chat.prompt.ChatOptions;
import org.springframework.ai.chat.prompt.Prompt;
import org.springframework.ai.model.tool.ToolCallingChatOptions;
import org.springframework.ai.session.DefaultSessionService;
import org.springframework.ai.session.EventFilter;
import org.springframework.ai.session.advisor.SessionMemoryAdvisor;
import org.springframework.ai.tool.function.FunctionToolCallback;

/**
 * Takes a turn as an agent of Spring AI in a session of the fleet, which examples/fleet at the root of the repository runs:
 * ADDRESS SESSION QUESTION ANSWER. It prints each message that it read, as Spring AI's own. A script replaces the model: it calls
 * a tool, then answers with the number of different texts in « » that were in its prompt.
 */
public final class FleetTurn {
  private FleetTurn() {}

  /** Runs the program. A call waits for a server that is started again. */
  public static void main(String[] arguments) {
    try (var client = ThreadkeepClient.builder().address(arguments[0]).app("fleet").userId("ada").timeout(Duration.ofMinutes(2))
        .retry(retry -> retry.maxAttempts(1000)).build()) {
      var sessions = DefaultSessionService.builder().sessionRepository(new ThreadkeepSessionRepository(client)).build();
      sessions.getEvents(arguments[1], EventFilter.active()).forEach(event -> print(event.getMessage()));
      var memory = SessionMemoryAdvisor.builder(sessions).defaultUserId("ada").build();
      Function<Map<String, Object>, String> find = city -> "IC 610 at nine from " + city.get("city");
      var trains = FunctionToolCallback.builder("trains", find).description("The trains of a city.").inputType(Map.class).build();
      var chat = ChatClient.builder(new Script(arguments[3])).defaultAdvisors(memory).defaultTools(trains).build();
      chat.prompt().user(arguments[2]).advisors(a -> a.param(SessionMemoryAdvisor.SESSION_ID_CONTEXT_KEY, arguments[1])).call().content();
    }
  }

  private static void print(Message message) {
    String own = message.getClass().getSimpleName();
    if (message.getText() != null && !message.getText().isEmpty()) {
      System.out.println(own + ": " + message.getText());
    }
    if (message instanceof AssistantMessage said) {
      said.getToolCalls().forEach(call -> System.out.println(own + " calls " + call.name() + " " + call.arguments() + " [" + call.id() + "]"));
    }
    if (message instanceof ToolResponseMessage tools) {
      tools.getResponses().forEach(each -> System.out.println(own + " returns " + each.responseData() + " [" + each.id() + "]"));
    }
  }

  /** Replaces the model. */
  private record Script(String answer) implements ChatModel {
    private static final Pattern ANSWERS = Pattern.compile("«(.+?)»");

    @Override
    public ChatResponse call(Prompt prompt) {
      List<Message> read = prompt.getInstructions();
      var message = AssistantMessage.builder();
      if (read.get(read.size() - 1) instanceof ToolResponseMessage) {
        long answers = read.stream().flatMap(each -> ANSWERS.matcher(String.valueOf(each.getText())).results()).map(MatchResult::group).distinct().count();
        message.content("«" + answer + "» Answers read: " + answers + ".");
      } else {
        String id = "call_" + UUID.randomUUID();
        message.content("").toolCalls(List.of(new ToolCall(id, "function", "trains", "{\"city\":\"Lisbon\"}")));
      }
      return new ChatResponse(List.of(new Generation(message.build())));
    }

    @Override
    public ChatOptions getOptions() {
      return ToolCallingChatOptions.builder().build();
    }
  }
}

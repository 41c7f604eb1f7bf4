import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.springframework.ai.chat.client.ChatClient;
import org.springframework.ai.chat.messages.AssistantMessage;
import org.springframework.ai.chat.messages.Message;
import org.springframework.ai.chat.messages.ToolResponseMessage;
import org.springframework.ai.chat.model.ChatModel;
import org.springframework.ai.chat.model.ChatResponse;
import org.springframework.ai.chat.model.Generation;
import org.springframework.ai.chat.prompt.ChatOptions;
import org.springframework.ai.chat.prompt.Prompt;
import org.springframework.ai.model.tool.ToolCallingChatOptions;
import org.springframework.ai.session.EventFilter;
import org.springframework.ai.session.SessionService;
import org.springframework.ai.session.advisor.SessionMemoryAdvisor;
import org.springframework.ai.session.compaction.SlidingWindowCompactionStrategy;
import org.springframework.ai.session.compaction.TurnCountTrigger;
import org.springframework.ai.session.tool.SessionEventTools;
import org.springframework.boot.CommandLineRunner;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * The chat of Spring AI Session's documentation: sessions as memory, compaction, and a tool that recalls what was compacted. Nothing in
 * it names Threadkeep: the starter is on the class path. Its model is a rule.
 */
@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration
public class SpringBootChat {
  /** Runs the chat: the server is that of {@code threadkeep.address}, or of THREADKEEP_ADDRESS. */
  public static void main(String[] arguments) {
    var application = new SpringApplication(SpringBootChat.class);
    application.setDefaultProperties(Map.of("threadkeep.app", "travel", "spring.main.banner-mode", "off", "logging.level.root", "warn"));
    application.run(arguments).close();
  }

  @Bean
  SessionMemoryAdvisor sessionMemoryAdvisor(SessionService sessions) {
    return SessionMemoryAdvisor.builder(sessions)
        .defaultUserId("ada")
        .compactionTrigger(new TurnCountTrigger(3))
        .compactionStrategy(SlidingWindowCompactionStrategy.builder().maxEvents(4).build())
        .build();
  }

  @Bean
  ChatClient chatClient(ChatModel model, SessionMemoryAdvisor memory, SessionService sessions) {
    return ChatClient.builder(model).defaultAdvisors(memory).defaultTools(SessionEventTools.builder(sessions).build()).build();
  }

  @Bean
  ChatModel model() {
    return new ChatModel() {
      @Override
      public ChatResponse call(Prompt prompt) {
        return new ChatResponse(List.of(new Generation(answer(prompt.getInstructions()))));
      }

      @Override
      public ChatOptions getOptions() {
        return ToolCallingChatOptions.builder().build();
      }
    };
  }

  private static AssistantMessage answer(List<Message> seen) {
    Message last = seen.get(seen.size() - 1);
    if (last instanceof ToolResponseMessage found) {
      boolean recalled = found.getResponses().get(0).responseData().contains("Is BA117 on time?");
      return new AssistantMessage(recalled ? "It was about BA117." : "I do not know.");
    }
    if (last.getText().equals("What was my first question?")) {
      String arguments = "{\"innerThought\": \"It is not in my window.\", \"query\": \"ba117\", \"page\": 0}";
      var call = new AssistantMessage.ToolCall("c1", "function", "conversation_search", arguments);
      return AssistantMessage.builder().content("").toolCalls(List.of(call)).build();
    }
    return new AssistantMessage("I see " + seen.size() + " messages.");
  }

  @Bean
  CommandLineRunner talk(ChatClient chat, SessionService sessions) {
    return arguments -> {
      String id = UUID.randomUUID().toString();
      for (String question : List.of("Is BA117 on time?", "Which gate?", "Is there a lounge?", "Thank you.", "What was my first question?")) {
        String answer = chat.prompt().user(question)
            .advisors(a -> a.param(SessionMemoryAdvisor.SESSION_ID_CONTEXT_KEY, id))
            .toolContext(Map.of(SessionEventTools.SESSION_ID_CONTEXT_KEY, id))
            .call().content();
        System.out.println(question + " " + answer);
      }
      System.out.println("in the window: " + sessions.getEvents(id, EventFilter.active()).size());
      System.out.println("in the session: " + sessions.getEvents(id, EventFilter.all()).size());
    };
  }
}

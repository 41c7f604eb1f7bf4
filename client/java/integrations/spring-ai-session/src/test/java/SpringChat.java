import dev.threadkeep.ThreadkeepClient;
import dev.threadkeep.spring.ai.ThreadkeepSessionRepository;
import java.util.List;
import java.util.UUID;
import org.springframework.ai.chat.client.ChatClient;
import org.springframework.ai.chat.messages.AssistantMessage;
import org.springframework.ai.chat.model.ChatModel;
import org.springframework.ai.chat.model.ChatResponse;
import org.springframework.ai.chat.model.Generation;
import org.springframework.ai.session.DefaultSessionService;
import org.springframework.ai.session.EventFilter;
import org.springframework.ai.session.advisor.SessionMemoryAdvisor;
import org.springframework.ai.session.compaction.TurnCountTrigger;
import org.springframework.ai.session.compaction.TurnWindowCompactionStrategy;

/** A chat of Spring AI whose memory is on a Threadkeep server. Its model is a rule: it says how many messages it sees. */
public final class SpringChat {
  private SpringChat() {}

  /** Runs the chat: the server is that of THREADKEEP_ADDRESS. */
  public static void main(String[] arguments) {
    try (var threadkeep = ThreadkeepClient.builder().app("travel").build()) {
      var sessions = DefaultSessionService.builder().sessionRepository(new ThreadkeepSessionRepository(threadkeep)).build();
      var memory = SessionMemoryAdvisor.builder(sessions)
          .defaultUserId("ada")
          .compactionTrigger(new TurnCountTrigger(3))
          .compactionStrategy(TurnWindowCompactionStrategy.builder().maxTurns(2).build())
          .build();
      ChatModel model = prompt -> new ChatResponse(List.of(new Generation(new AssistantMessage("I see " + prompt.getInstructions().size() + " messages."))));
      var chat = ChatClient.builder(model).defaultAdvisors(memory).build();
      String id = UUID.randomUUID().toString();
      for (String question : List.of("Is BA117 on time?", "Which gate?", "Is there a lounge?", "Thank you.", "Bye.")) {
        String answer = chat.prompt().user(question).advisors(a -> a.param(SessionMemoryAdvisor.SESSION_ID_CONTEXT_KEY, id)).call().content();
        System.out.println(question + " " + answer);
      }
      System.out.println("in the window: " + sessions.getEvents(id, EventFilter.active()).size());
      System.out.println("recalled: " + sessions.getEvents(id, EventFilter.keywordSearch("ba117")).get(0).getMessage().getText());
    }
  }
}

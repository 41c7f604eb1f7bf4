import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.rag.query.Metadata;
import dev.langchain4j.rag.query.Query;
import dev.threadkeep.ThreadkeepClient;
import dev.threadkeep.langchain4j.ThreadkeepChatMemoryStore;
import dev.threadkeep.langchain4j.ThreadkeepContentRetriever;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/** A memory of four messages whose store is on a Threadkeep server, and a retriever that recalls what it evicted. */
public final class RecallingMemory {
  private RecallingMemory() {}

  /** Runs the chat: the server is that of THREADKEEP_ADDRESS. */
  public static void main(String[] arguments) {
    String user = UUID.randomUUID().toString();
    try (var client = ThreadkeepClient.builder().app("travel").userId(user).build()) {
      var store = new ThreadkeepChatMemoryStore(client);
      for (String question : List.of("My daughter is allergic to peanuts.", "Is BA117 on time?", "Which gate?")) {
        List<ChatMessage> memory = new ArrayList<>(store.getMessages("chat-1"));
        memory.add(UserMessage.from(question));
        memory.add(AiMessage.from("I see " + memory.size() + " messages."));
        store.updateMessages("chat-1", memory.subList(Math.max(0, memory.size() - 4), memory.size()));
      }
      System.out.println("in the memory: " + store.getMessages("chat-1").size());
      var asked = UserMessage.from("peanuts");
      var query = Query.from("peanuts", Metadata.from(asked, "chat-1", List.of()));
      ThreadkeepContentRetriever.ofSessions(client, 3).retrieve(query).forEach(found -> System.out.println("recalled: " + found.textSegment().text()));
    }
  }
}

package dev.threadkeep.spring.ai;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.threadkeep.Events;
import dev.threadkeep.ThreadkeepClient;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.ai.chat.memory.MessageWindowChatMemory;
import org.springframework.ai.chat.messages.AssistantMessage;
import org.springframework.ai.chat.messages.Message;
import org.springframework.ai.chat.messages.SystemMessage;
import org.springframework.ai.chat.messages.UserMessage;

/** The rules of ChatMemoryRepository, against a server. */
class ChatMemoryTest {
  private static final Message HI = new UserMessage("Hi");
  private static final Message HELLO = new AssistantMessage("Hello");
  private static final Message BYE = new UserMessage("Bye");
  private static ThreadkeepClient client;
  private static ThreadkeepChatMemoryRepository repository;
  private final String id = UUID.randomUUID().toString();

  @BeforeAll
  static void open() {
    client = ThreadkeepClient.builder().address(System.getenv("THREADKEEP_TEST_ADDRESS")).app("memory-" + UUID.randomUUID()).userId("ada").build();
    repository = new ThreadkeepChatMemoryRepository(client);
  }

  @AfterAll
  static void close() {
    client.close();
  }

  @Test
  void unknownConversationIsEmpty() {
    assertEquals(List.of(), repository.findByConversationId(id));
  }

  @Test
  void saveAppendsWhatIsNewAndRepeatedSavesChangeNothing() {
    repository.saveAll(id, List.of(HI));
    repository.saveAll(id, List.of(HI, HELLO));
    repository.saveAll(id, List.of(HI, HELLO));
    assertEquals(List.of(HI, HELLO), repository.findByConversationId(id));
    assertEquals(2, client.session(id).get().getLogVersion());
  }

  @Test
  void saveReplacesAllMessages() {
    repository.saveAll(id, List.of(HI, HELLO));
    repository.saveAll(id, List.of(new SystemMessage("Be brief."), HELLO, BYE));
    assertEquals(List.of(new SystemMessage("Be brief."), HELLO, BYE), repository.findByConversationId(id));
  }

  @Test
  void messagesThatTheMemoryOfSpringEvictsAreArchived() {
    var memory = MessageWindowChatMemory.builder().chatMemoryRepository(repository).maxMessages(2).build();
    memory.add(id, List.of(HI, HELLO));
    memory.add(id, List.of(BYE, new AssistantMessage("Goodbye")));
    assertEquals(List.of(BYE, new AssistantMessage("Goodbye")), memory.get(id));
    var first = client.session(id).events().iterator().next();
    assertTrue(first.getArchived());
    assertEquals("Hi", Events.textOf(first));
  }

  @Test
  void conversationsAreListedAndDeleted() {
    String other = UUID.randomUUID().toString();
    repository.saveAll(id, List.of(HI));
    repository.saveAll(other, List.of(HI));
    assertTrue(repository.findConversationIds().containsAll(Set.of(id, other)));
    repository.deleteByConversationId(id);
    repository.deleteByConversationId(id);
    assertEquals(List.of(), repository.findByConversationId(id));
    assertTrue(!repository.findConversationIds().contains(id));
  }
}

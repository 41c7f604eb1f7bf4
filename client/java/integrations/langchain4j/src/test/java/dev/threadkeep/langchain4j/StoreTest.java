package dev.threadkeep.langchain4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.CustomMessage;
import dev.langchain4j.data.message.ImageContent;
import dev.langchain4j.data.message.PdfFileContent;
import dev.langchain4j.data.message.SystemMessage;
import dev.langchain4j.data.message.TextContent;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.rag.query.Metadata;
import dev.langchain4j.rag.query.Query;
import dev.threadkeep.Events;
import dev.threadkeep.ThreadkeepClient;
import dev.threadkeep.UserMemory;
import dev.threadkeep.v1.SessionEvent;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The rules of ChatMemoryStore and ContentRetriever, against a server. */
class StoreTest {
  private static final ChatMessage HI = UserMessage.from("Hi");
  private static final ChatMessage HELLO = AiMessage.from("Hello");
  private static final ChatMessage BYE = UserMessage.from("Bye");
  private static ThreadkeepClient client;
  private static ThreadkeepChatMemoryStore store;
  private final String id = UUID.randomUUID().toString();

  @BeforeAll
  static void open() {
    client = ThreadkeepClient.builder().address(System.getenv("THREADKEEP_TEST_ADDRESS")).app("lc4j-" + UUID.randomUUID()).userId("ada").build();
    store = new ThreadkeepChatMemoryStore(client);
  }

  @AfterAll
  static void close() {
    client.close();
  }

  private List<String> texts() {
    return client.session(id).events().stream().map(Events::textOf).toList();
  }

  private static List<ChatMessage> allKinds() {
    var call = ToolExecutionRequest.builder().id("c1").name("weather").arguments("{\"city\" : \"Lisbon\"}").build();
    return List.of(
        SystemMessage.from("Be brief."),
        UserMessage.from("ada", List.of(TextContent.from("Look"), ImageContent.from("AAEC", "image/png", ImageContent.DetailLevel.LOW),
            PdfFileContent.from("https://example.com/a.pdf"))),
        AiMessage.builder().thinking("hm").toolExecutionRequests(List.of(call)).attributes(Map.of("id", "r1")).build(),
        ToolExecutionResultMessage.builder().id("c1").toolName("weather").text("offline").isError(true).build(),
        AiMessage.from("It is offline."),
        CustomMessage.from(Map.of("kind", "note")));
  }

  @Test
  void unknownMemoryIsEmptyAndNotNull() {
    assertEquals(List.of(), store.getMessages(id));
  }

  @Test
  void messagesOfAllKindsComeBackEqualAndTyped() {
    store.updateMessages(id, allKinds());
    assertEquals(allKinds().subList(0, 5), store.getMessages(id).subList(0, 5));
    assertEquals(Map.of("kind", "note"), ((CustomMessage) store.getMessages(id).get(5)).attributes());
    List<SessionEvent> events = client.session(id).events().stream().toList();
    assertEquals("ada", events.get(1).getAuthor());
    assertEquals("hm", events.get(2).getMessage().getParts(0).getReasoning().getText());
    assertEquals("c1", events.get(2).getMessage().getParts(1).getToolCall().getId());
    assertTrue(events.get(3).getMessage().getParts(0).getToolResult().getIsError());
  }

  @Test
  void memoryIdOfAnyTypeIsTheTextOfTheSession() {
    long number = UUID.randomUUID().getMostSignificantBits();
    store.updateMessages(number, List.of(HI));
    assertEquals(List.of(HI), new ThreadkeepChatMemoryStore(client).getMessages(String.valueOf(number)));
  }

  @Test
  void updateAppendsWhatIsNewAndLeavesStoredEvents() {
    store.updateMessages(id, List.of(HI));
    String first = client.session(id).events().iterator().next().getEventId();
    store.updateMessages(id, List.of(HI, HELLO));
    store.updateMessages(id, List.of(HI, HELLO));
    List<SessionEvent> events = client.session(id).events().stream().toList();
    assertEquals(List.of("Hi", "Hello"), texts());
    assertEquals(first, events.get(0).getEventId());
    assertEquals(2, client.session(id).get().getLogVersion());
  }

  @Test
  void evictedMessagesAreArchivedAndRecalled() {
    store.updateMessages(id, List.of(UserMessage.from("My cat is called Miau."), HELLO));
    store.updateMessages(id, List.of(HELLO, BYE));
    assertEquals(List.of(HELLO, BYE), store.getMessages(id));
    assertTrue(client.session(id).events().iterator().next().getArchived());
    var query = Query.from("Miau", Metadata.from(UserMessage.from("Miau"), id, List.of()));
    var found = ThreadkeepContentRetriever.ofSessions(client, 3).retrieve(query);
    assertEquals(List.of("My cat is called Miau."), found.stream().map(each -> each.textSegment().text()).toList());
    assertEquals("user", found.get(0).textSegment().metadata().getString("role"));
  }

  @Test
  void replacedSystemMessageTakesItsPlace() {
    store.updateMessages(id, List.of(SystemMessage.from("Be brief."), HI, HELLO));
    store.updateMessages(id, List.of(SystemMessage.from("Be kind."), HI, HELLO, BYE));
    assertEquals(List.of(SystemMessage.from("Be kind."), HI, HELLO, BYE), store.getMessages(id));
  }

  @Test
  void replacementByOtherMessagesReplacesAll() {
    store.updateMessages(id, List.of(HI, HELLO));
    store.updateMessages(id, List.of(BYE));
    assertEquals(List.of(BYE), store.getMessages(id));
  }

  @Test
  void messagesThatOthersAppendedSinceTheReadStay() {
    store.updateMessages(id, List.of(HI));
    store.getMessages(id);
    client.session(id).append(Events.assistant("from elsewhere"));
    store.updateMessages(id, List.of(HI, BYE));
    assertEquals(List.of("Hi", "from elsewhere", "Bye"), texts());
  }

  @Test
  void concurrentFirstWritesAreAllKept() {
    List<ThreadkeepChatMemoryStore> stores = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      var own = new ThreadkeepChatMemoryStore(client);
      // Who reads after another's write, and does not repeat it, evicts it.
      assertEquals(List.of(), own.getMessages(id));
      stores.add(own);
    }
    List<CompletableFuture<Void>> writers = new ArrayList<>();
    for (var own : stores) {
      writers.add(own.updateMessagesAsync(id, List.of(UserMessage.from("w" + writers.size()))));
    }
    writers.forEach(CompletableFuture::join);
    assertEquals(8, store.getMessages(id).size());
  }

  @Test
  void deletedMemoryIsEmptyAndCanBeWrittenAgain() {
    store.updateMessages(id, List.of(HI));
    store.deleteMessages(id);
    store.deleteMessages(id);
    assertEquals(List.of(), store.getMessages(id));
    store.updateMessages(id, List.of(BYE));
    assertEquals(List.of(BYE), store.getMessages(id));
  }

  @Test
  void asynchronousMethodsDoTheSame() {
    var read = store.updateMessagesAsync(id, List.of(HI)).thenCompose(done -> store.getMessagesAsync(id));
    assertEquals(List.of(HI), read.join());
    assertEquals(List.of(), store.deleteMessagesAsync(id).thenCompose(done -> store.getMessagesAsync(id)).join());
  }

  @Test
  void messagesOfOthersAreRead() {
    client.session(id).append(List.of(Events.user("Weather?"), Events.assistant(Events.reasoning("hm"), Events.toolCall("c1", "weather", "{}")),
        Events.toolResultJson("c1", "weather", "{\"celsius\":21}")), o -> o.createIfMissing());
    List<ChatMessage> found = store.getMessages(id);
    assertEquals(UserMessage.from("Weather?"), found.get(0));
    assertEquals("c1", ((AiMessage) found.get(1)).toolExecutionRequests().get(0).id());
    assertEquals("{\"celsius\":21}", ((ToolExecutionResultMessage) found.get(2)).text());
    store.updateMessages(id, List.of(found.get(1), found.get(2), BYE));
    assertEquals(List.of(found.get(1), found.get(2), BYE), store.getMessages(id));
  }

  @Test
  void retrieverOfMemoryFindsItsEntries() {
    client.memory().add(UserMemory.remember("Prefers a window seat."));
    var found = ThreadkeepContentRetriever.ofMemory(client, 2).retrieve(Query.from("seat"));
    assertEquals("Prefers a window seat.", found.get(0).textSegment().text());
  }
}

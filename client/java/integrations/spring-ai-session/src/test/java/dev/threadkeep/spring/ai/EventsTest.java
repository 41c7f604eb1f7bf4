package dev.threadkeep.spring.ai;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.threadkeep.Events;
import dev.threadkeep.ThreadkeepClient;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.ai.chat.messages.AssistantMessage;
import org.springframework.ai.chat.messages.AssistantMessage.ToolCall;
import org.springframework.ai.chat.messages.Message;
import org.springframework.ai.chat.messages.MessageType;
import org.springframework.ai.chat.messages.SystemMessage;
import org.springframework.ai.chat.messages.ToolResponseMessage;
import org.springframework.ai.chat.messages.ToolResponseMessage.ToolResponse;
import org.springframework.ai.chat.messages.UserMessage;
import org.springframework.ai.content.Media;
import org.springframework.ai.session.DefaultSessionService;
import org.springframework.ai.session.EventFilter;
import org.springframework.ai.session.InMemorySessionRepository;
import org.springframework.ai.session.Session;
import org.springframework.ai.session.SessionEvent;
import org.springframework.ai.session.SessionRepository;
import org.springframework.ai.session.compaction.TurnCountTrigger;
import org.springframework.ai.session.compaction.TurnWindowCompactionStrategy;
import org.springframework.util.MimeTypeUtils;

/** The rules of SessionRepository about filters, messages and compaction, against a server. */
class EventsTest {
  private static ThreadkeepClient client;
  private static ThreadkeepSessionRepository repository;
  private Session session;

  @BeforeAll
  static void open() {
    client = ThreadkeepClient.builder().address(System.getenv("THREADKEEP_TEST_ADDRESS")).app("spring-" + UUID.randomUUID()).build();
    repository = new ThreadkeepSessionRepository(client);
  }

  @AfterAll
  static void close() {
    client.close();
  }

  @BeforeEach
  void create() {
    session = repository.save(Session.builder().id(UUID.randomUUID().toString()).userId("ada").build());
  }

  private SessionEvent.Builder event(String id, Message message) {
    return SessionEvent.builder().id(id).sessionId(session.id()).message(message);
  }

  private static SessionEvent.Builder synthetic(SessionEvent.Builder event) {
    return event.metadata(SessionEvent.METADATA_SYNTHETIC, true).metadata(SessionEvent.METADATA_COMPACTION_SOURCE, "test");
  }

  private static List<String> ids(List<SessionEvent> events) {
    return events.stream().map(SessionEvent::getId).toList();
  }

  private List<String> ids(EventFilter filter) {
    return ids(repository.findEvents(session.id(), filter));
  }

  private Message roundTrip(Message message) {
    repository.appendEvent(event("m", message).build());
    return repository.findEvents(session.id(), EventFilter.all()).get(0).getMessage();
  }

  @Test
  void filtersSelectTheEventsThatTheInMemoryRepositorySelects() {
    SessionRepository expected = InMemorySessionRepository.builder().build();
    expected.save(session);
    List<SessionEvent> events = fixture();
    for (SessionEvent each : events) {
      expected.appendEvent(each);
      repository.appendEvent(each);
    }
    List<SessionEvent> window = List.of(synthetic(event("summary", new UserMessage("They said hello."))).build(), events.get(4), events.get(5),
        events.get(6));
    List<SessionEvent> archived = events.subList(0, 4);
    assertTrue(expected.compactEvents(session.id(), archived, window, 7));
    assertTrue(repository.compactEvents(session.id(), archived, window, 7));
    for (EventFilter filter : filters()) {
      assertEquals(ids(expected.findEvents(session.id(), filter)), ids(filter), filter.toString());
    }
  }

  private List<SessionEvent> fixture() {
    Instant start = Instant.parse("2026-01-01T00:00:00Z");
    List<Message> messages = List.of(new SystemMessage("Be brief."), new UserMessage("HELLO 50%_ there"), new AssistantMessage("Hello!"),
        ToolResponseMessage.builder().responses(List.of(new ToolResponse("c", "t", "hello in data"))).build(),
        new UserMessage("Where is ÄPFEL?"), new AssistantMessage("hello from a branch"), new AssistantMessage("from its sibling"));
    List<String> branches = Arrays.asList(null, null, null, null, null, "orch.research", "orch.writer");
    return IntStream.range(0, messages.size())
        .mapToObj(i -> event("e" + i, messages.get(i)).timestamp(start.plusSeconds(i)).branch(branches.get(i)).build())
        .toList();
  }

  private static List<EventFilter> filters() {
    Instant start = Instant.parse("2026-01-01T00:00:00Z");
    return List.of(EventFilter.all(), EventFilter.active(), EventFilter.realOnly(), EventFilter.lastN(1), EventFilter.lastN(5),
        EventFilter.lastN(50), EventFilter.keywordSearch("hello"), EventFilter.keywordSearch("50%_"), EventFilter.keywordSearch("äpfel"),
        EventFilter.keywordSearch("hello", 1, 2), EventFilter.keywordSearch("hello", 9, 2), EventFilter.keywordSearch(" "),
        EventFilter.forBranch("orch.research"), EventFilter.forBranch("orch.research.deep"), EventFilter.forBranch("orch"),
        EventFilter.forBranch("orc"), EventFilter.builder().from(start.plusSeconds(2)).to(start.plusSeconds(5)).build(),
        EventFilter.builder().messageTypes(Set.of(MessageType.USER, MessageType.TOOL)).build(),
        EventFilter.builder().messageTypes(Set.of(MessageType.ASSISTANT)).lastN(2).excludeArchived(true).build(),
        EventFilter.builder().page(1).pageSize(3).build(), EventFilter.builder().page(0).pageSize(2).excludeArchived(true).build(),
        EventFilter.builder().excludeSynthetic(true).excludeArchived(true).keyword("HELLO").build());
  }

  @Test
  void compactionArchivesAndKeepsTheSummaryBeforeTheRest() {
    List<SessionEvent> events = fixture();
    events.forEach(repository::appendEvent);
    SessionEvent summary = synthetic(event("s1", new UserMessage("so far"))).build();
    assertTrue(repository.compactEvents(session.id(), events.subList(0, 5), List.of(summary, events.get(5), events.get(6)), 7));
    assertEquals(8, repository.getEventVersion(session.id()));
    assertEquals(List.of("s1", "e5", "e6"), ids(EventFilter.active()));
    assertTrue(repository.findEvents(session.id(), EventFilter.all()).subList(0, 5).stream().allMatch(SessionEvent::isArchived));
    SessionEvent again = synthetic(event("s2", new UserMessage("so far and on"))).build();
    assertTrue(repository.compactEvents(session.id(), List.of(events.get(5)), List.of(again, events.get(6)), 8));
    assertEquals(List.of("e0", "e1", "e2", "e3", "e4", "e5", "s2", "e6"), ids(EventFilter.all()));
  }

  @Test
  void compactionWithAStaleVersionChangesNothing() {
    List<SessionEvent> events = fixture();
    events.forEach(repository::appendEvent);
    assertFalse(repository.compactEvents(session.id(), events.subList(0, 5), events.subList(5, 7), 6));
    assertEquals(7, ids(EventFilter.active()).size());
    assertEquals(7, repository.getEventVersion(session.id()));
  }

  @Test
  void serviceOfSpringCompactsByItsTriggerAndStrategy() {
    var service = DefaultSessionService.builder().sessionRepository(repository).build();
    for (int i = 0; i < 4; i++) {
      service.appendMessage(session.id(), new UserMessage("question " + i));
      service.appendMessage(session.id(), new AssistantMessage("answer " + i));
    }
    var strategy = TurnWindowCompactionStrategy.builder().maxTurns(1).build();
    var result = service.compact(session.id(), new TurnCountTrigger(2), strategy);
    assertEquals(6, result.archivedEvents().size());
    List<SessionEvent> active = service.getEvents(session.id(), EventFilter.active());
    assertEquals(List.of("question 3", "answer 3"), active.stream().map(each -> each.getMessage().getText()).toList());
    assertEquals(8, repository.findEvents(session.id(), EventFilter.realOnly()).size());
  }

  @Test
  void mediaToolCallsAndMetadataComeBackEqual() {
    byte[] image = {0, 1, -1};
    var media = List.of(Media.builder().mimeType(MimeTypeUtils.IMAGE_PNG).data(image).id("f1").name("map.png").build(),
        Media.builder().mimeType(MimeTypeUtils.IMAGE_JPEG).data(java.net.URI.create("https://example.com/a.jpg")).name("a").build());
    UserMessage asked = UserMessage.builder().text("\u0000 look").media(media).metadata(Map.of("n", 5L, "list", List.of(1, "b"))).build();
    UserMessage found = (UserMessage) roundTrip(asked);
    assertEquals(asked.getText(), found.getText());
    assertEquals(asked.getMetadata(), found.getMetadata());
    assertEquals(Arrays.toString(image), Arrays.toString(found.getMedia().get(0).getDataAsByteArray()));
    assertEquals("f1", found.getMedia().get(0).getId());
    assertEquals("map.png", found.getMedia().get(0).getName());
    assertEquals("https://example.com/a.jpg", found.getMedia().get(1).getData());
  }

  @Test
  void assistantMessageWithoutTextAndWithCallsComesBackEqual() {
    var calls = List.of(new ToolCall("c1", "function", "weather", "{\"a\" : 1.0}"), new ToolCall("c2", "custom", "sh", "not json"));
    Message said = AssistantMessage.builder().content(null).toolCalls(calls).properties(Map.of("finishReason", "TOOL_CALLS")).build();
    assertEquals(said, roundTrip(said));
  }

  @Test
  void toolResponsesComeBackEqual() {
    Message message = ToolResponseMessage.builder()
        .responses(List.of(new ToolResponse("c1", "weather", "{\"celsius\":21}"), new ToolResponse("c2", "sh", "plain")))
        .metadata(Map.of("took", 0.25))
        .build();
    assertEquals(message, roundTrip(message));
  }

  @Test
  void eventComesBackWithIdTimeBranchAndMetadata() {
    SessionEvent event = event("e", new UserMessage("hi")).timestamp(Instant.parse("2020-01-01T00:00:00.000000001Z"))
        .branch("orch.research").metadata("score", 3L).metadata("author", "guide").build();
    repository.appendEvent(event);
    SessionEvent found = repository.findEvents(session.id(), EventFilter.all()).get(0);
    assertEquals(event, found);
    assertEquals(event.getTimestamp(), found.getTimestamp());
    assertEquals(event.getBranch(), found.getBranch());
    assertEquals(event.getMetadata(), found.getMetadata());
    assertEquals("guide", client.session(owned()).events().iterator().next().getAuthor());
  }

  @Test
  void eventsOfOthersAreReadAsMessages() {
    var call = Events.assistant(Events.reasoning("hm"), Events.text("Let me see."), Events.toolCall("c1", "weather", "{}"));
    client.session(owned()).append(Events.system("Be brief."), Events.user("Weather?"), call, Events.toolError("c1", "weather", "offline"));
    List<Message> found = repository.findEvents(session.id(), EventFilter.active()).stream().map(SessionEvent::getMessage).toList();
    assertEquals(List.of(MessageType.SYSTEM, MessageType.USER, MessageType.ASSISTANT, MessageType.TOOL), found.stream().map(Message::getMessageType).toList());
    AssistantMessage said = (AssistantMessage) found.get(2);
    assertEquals("c1", said.getToolCalls().get(0).id());
    assertEquals("hm", said.getMetadata().get(SpringMessages.REASONING));
    assertEquals("offline", ((ToolResponseMessage) found.get(3)).getResponses().get(0).responseData());
  }

  private dev.threadkeep.v1.SessionRef owned() {
    return client.session(session.id()).ref().toBuilder().setUserId("ada").build();
  }
}

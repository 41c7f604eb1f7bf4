package dev.threadkeep.adk;

import static dev.threadkeep.adk.Talk.USER;
import static dev.threadkeep.adk.Talk.created;
import static dev.threadkeep.adk.Talk.said;
import static dev.threadkeep.adk.Talk.texts;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.adk.events.Event;
import com.google.adk.sessions.Session;
import com.google.genai.types.Content;
import com.google.genai.types.Part;
import com.google.protobuf.ByteString;
import dev.threadkeep.Events;
import dev.threadkeep.SessionHandle;
import dev.threadkeep.v1.NativeContent;
import dev.threadkeep.v1.ReasoningPart;
import dev.threadkeep.v1.Role;
import dev.threadkeep.v1.SessionEvent;
import dev.threadkeep.v1.SessionRef;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Events as they are stored, read by ADK and by others, against a server. */
class EventsTest extends WithService {
  private static SessionHandle handle(Session session) {
    return client.session(SessionRef.newBuilder().setApp(session.appName()).setUserId(USER).setSessionId(session.id()).build());
  }

  private List<SessionEvent> stored(Event... events) {
    Session session = created(service, app);
    for (Event event : events) {
      service.appendEvent(session, event).blockingGet();
    }
    return handle(session).events().stream().toList();
  }

  private Event roundTrip(Event event) {
    Session session = created(service, app);
    service.appendEvent(session, event).blockingGet();
    return Talk.read(service, session).events().get(0);
  }

  private Session read(SessionEvent... events) {
    Session session = created(service, app);
    handle(session).append(events);
    return Talk.read(service, session);
  }

  @Test
  void eventsComeBackEqual() {
    Session session = created(service, app);
    Rich.events().forEach(event -> service.appendEvent(session, event).blockingGet());
    assertEquals(Rich.trees(Rich.events()), Rich.trees(Talk.read(service, session).events()));
  }

  @Test
  void eventWithoutBytesIsEqualAsAnObjectAlsoIfPythonHasNoMemberForIt() {
    assertEquals(Rich.own(), roundTrip(Rich.own()));
    assertEquals(Rich.events().get(2), roundTrip(Rich.events().get(2)));
  }

  @Test
  void itemIsTheJsonOfAdkForPython() {
    String item = stored(Rich.events().get(1)).get(0).getNative().getContent().toStringUtf8();
    for (String part : List.of("\"timestamp\":1764259201.000", "\"invocation_id\":\"i1\"", "\"function_call\":{", "\"args\":{", "\"cityName\":\"Oslo\"",
        "\"thought_signature\":\"-__-AAE=\"", "\"long_running_tool_ids\":[\"c1\"]", "\"requested_tool_confirmations\":{\"c1\":{", "\"aB\":1")) {
      assertTrue(item.contains(part), part + " is not in " + item);
    }
    assertEquals("adk.event/1", stored(Rich.events().get(0)).get(0).getNative().getFormat());
  }

  @Test
  void typedEventHasAuthorBranchInvocationTimeAndUsage() {
    SessionEvent event = stored(Rich.events().get(1)).get(0);
    assertEquals(List.of("helper", "root.helper", "i1"), List.of(event.getAuthor(), event.getBranch(), event.getInvocationId()));
    assertEquals(1_764_259_201L, event.getEventTime().getSeconds());
    var usage = event.getUsage();
    assertEquals(List.of(10L, 7L, 17L, 3L, 2L),
        List.of(usage.getInputTokens(), usage.getOutputTokens(), usage.getTotalTokens(), usage.getCachedTokens(), usage.getReasoningTokens()));
  }

  @Test
  void typedPartsAreComplete() {
    SessionEvent asked = stored(Rich.events().get(0)).get(0);
    assertEquals(Role.ROLE_USER, asked.getMessage().getRole());
    assertEquals(List.of("image/png", "application/pdf"), asked.getMessage().getPartsList().stream().filter(part -> part.hasMedia()).map(part -> part.getMedia().getMimeType()).toList());
    SessionEvent called = stored(Rich.events().get(1)).get(0);
    var parts = called.getMessage().getPartsList();
    assertEquals(Role.ROLE_ASSISTANT, called.getMessage().getRole());
    assertEquals("Two cities.", parts.get(0).getReasoning().getText());
    assertEquals(5, parts.get(0).getReasoning().getSignature().size());
    assertEquals("Let me look.", parts.get(1).getText());
    assertEquals(5, parts.get(2).getReasoning().getSignature().size());
    assertEquals("weather", parts.get(3).getToolCall().getName());
    assertEquals("{\"reasoning_of\":\"gemini\"}", called.getMetadataJson());
  }

  @Test
  void typedResultHasIdNameValueAndError() {
    var result = stored(Rich.events().get(2)).get(0).getMessage();
    assertEquals(Role.ROLE_TOOL, result.getRole());
    var typed = result.getParts(0).getToolResult();
    assertEquals(List.of("c1", "weather", "the station is offline", true),
        List.of(typed.getCallId(), typed.getName(), typed.getParts(0).getText(), typed.getIsError()));
  }

  @Test
  void typedCompactionIsASyntheticSummaryAndATranscriptionIsText() {
    SessionEvent summary = stored(Rich.events().get(4)).get(0);
    assertTrue(summary.getSynthetic());
    assertEquals(List.of("google-adk", "They compared cities."), List.of(summary.getCompactionSource(), Events.textOf(summary)));
    SessionEvent spoken = stored(Rich.events().get(5)).get(0);
    assertEquals(Role.ROLE_USER, spoken.getMessage().getRole());
    assertEquals("Is it on time?", Events.textOf(spoken));
  }

  @Test
  void whatAnEventCannotHaveIsKeptInTheItem() {
    Event event = said("a".repeat(300), "lone \ud800 surrogate").branch("a..b").build();
    SessionEvent found = stored(event).get(0);
    assertEquals(List.of("", "", "lone \ufffd surrogate"), List.of(found.getAuthor(), found.getBranch(), Events.textOf(found)));
    Session session = created(service, app);
    service.appendEvent(session, event).blockingGet();
    assertEquals(List.of(event), Talk.read(service, session).events());
  }

  @Test
  void eventOfPythonIsReadAsAnEvent() {
    String item = "{\"id\":\"e1\",\"author\":\"helper\",\"timestamp\":1764259200.1234567,\"invocation_id\":\"i1\",\"node_info\":{\"path\":\"wf/A@1\"},"
        + "\"custom_metadata\":{\"snake_case\":1,\"deep\":{\"a\":[1]}},\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"Hi.\"},"
        + "{\"inline_data\":{\"mime_type\":\"image/png\",\"data\":\"-__-AAE=\"}}]},"
        + "\"actions\":{\"state_delta\":{\"gone\":null,\"k\":NaN},\"rewind_before_invocation_id\":\"i0\"}}";
    var event = Events.assistant("Hi.").toBuilder().setNative(NativeContent.newBuilder().setFormat("adk.event/1").setContent(ByteString.copyFromUtf8(item))).build();
    Event found = read(event).events().get(0);
    assertEquals(1_764_259_200_123L, found.timestamp());
    assertEquals(5, found.content().get().parts().get().get(1).inlineData().get().data().get().length);
    assertEquals(List.of("snake_case", "deep"), found.customMetadata().get().stream().map(each -> each.key().get()).toList());
    assertEquals(com.google.adk.sessions.State.REMOVED, found.actions().stateDelta().get("gone"));
  }

  @Test
  void itemOfAnotherVersionIsReadByItsParts() {
    var event = Events.assistant("Hi.").toBuilder().setNative(NativeContent.newBuilder().setFormat("adk.event/1").setContent(ByteString.copyFromUtf8("{\"content\":7}"))).build();
    assertEquals(List.of("Hi."), texts(read(event)));
  }

  @Test
  void messagesOfOthersAreReadAsContents() {
    var asked = Events.user("Weather?").toBuilder().setEventTime(com.google.protobuf.Timestamp.newBuilder().setSeconds(7)).build();
    var called = Events.assistant(Events.reasoning("One call."), Events.text("Looking."), Events.toolCall("c1", "weather", "{\"city\": \"Oslo\"}"))
        .toBuilder().setAuthor("planner").setBranch("a.b").setInvocationId("i9").build();
    List<Event> found = read(asked, called, Events.toolError("c1", "", "offline"), Events.toolResultJson("c1", "weather", "{\"c\": 4}"), Events.system("Be kind.")).events();
    assertEquals(List.of("user", "planner", "assistant", "assistant", "system"), found.stream().map(Event::author).toList());
    assertEquals(Instant.ofEpochSecond(7).toEpochMilli(), found.get(0).timestamp());
    List<Part> parts = found.get(1).content().flatMap(Content::parts).get();
    assertTrue(parts.get(0).thought().get());
    assertEquals(Map.of("city", "Oslo"), parts.get(2).functionCall().get().args().get());
    assertEquals(List.of("a.b", "i9"), List.of(found.get(1).branch().get(), found.get(1).invocationId()));
    var failed = found.get(2).functionResponses().get(0);
    assertEquals(List.of("c1", "weather"), List.of(failed.id().get(), failed.name().get()));
    assertEquals(Map.of("error", "offline"), failed.response().get());
    assertEquals(Map.of("c", 4), found.get(3).functionResponses().get(0).response().get());
    assertEquals("user", found.get(3).content().get().role().get());
  }

  @Test
  void signatureOfAnotherProviderIsLeftOut() {
    var part = dev.threadkeep.v1.Part.newBuilder().setReasoning(ReasoningPart.newBuilder().setText("Hm.").setSignature(ByteString.copyFromUtf8("x"))).build();
    var foreign = Events.assistant(part).toBuilder().setMetadataJson("{\"reasoning_of\":\"anthropic\"}").build();
    assertTrue(read(foreign).events().get(0).content().get().parts().get().get(0).thoughtSignature().isEmpty());
    var own = Events.assistant(part);
    assertEquals("x", new String(read(own).events().get(0).content().get().parts().get().get(0).thoughtSignature().get(), java.nio.charset.StandardCharsets.UTF_8));
  }

  @Test
  void mediaOfOthersIsInlineOrAFile() {
    var inline = dev.threadkeep.v1.Part.newBuilder().setMedia(dev.threadkeep.v1.MediaPart.newBuilder().setUri("data:image/png;base64,AAE=")).build();
    var message = Events.event(Role.ROLE_USER, inline, Events.media("image/png", "https://example.org/a.png"));
    List<Part> parts = read(message).events().get(0).content().get().parts().get();
    assertEquals("image/png", parts.get(0).inlineData().get().mimeType().get());
    assertEquals("https://example.org/a.png", parts.get(1).fileData().get().fileUri().get());
  }

  @Test
  void erasedEventIsNotRead() {
    Session session = created(service, app);
    service.appendEvent(session, said("user", "secret").id("e1").build()).blockingGet();
    service.appendEvent(session, said("user", "rest").id("e2").build()).blockingGet();
    handle(session).eraseEvents(List.of("e1"));
    assertEquals(List.of("rest"), texts(Talk.read(service, session)));
  }
}

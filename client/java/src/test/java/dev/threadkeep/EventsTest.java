package dev.threadkeep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.threadkeep.v1.Part;
import dev.threadkeep.v1.Role;
import dev.threadkeep.v1.SessionEvent;
import java.util.HashSet;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class EventsTest {
  @Test
  void newIdsAreVersionSevenAndSortByTime() throws InterruptedException {
    String before = Events.newEventId();
    Thread.sleep(2);
    String after = Events.newEventId();
    assertTrue(before.compareTo(after) < 0, before + " " + after);

    var id = UUID.fromString(after);
    assertEquals(7, id.version());
    assertEquals(2, id.variant());
    long age = System.currentTimeMillis() - (id.getMostSignificantBits() >>> 16);
    assertTrue(age >= 0 && age < 10_000, "made " + age + " ms ago");
  }

  @Test
  void idsDiffer() {
    var ids = new HashSet<String>();
    for (int n = 0; n < 100_000; n++) {
      assertTrue(ids.add(Events.newEventId()));
    }
  }

  @Test
  void withIdsCopiesEventsAndKeepsIds() {
    var bare = Events.user("Hi");
    var named = bare.toBuilder().setEventId("mine").build();
    List<SessionEvent> sent = Events.withIds(List.of(bare, named, bare));
    assertEquals("", bare.getEventId());
    assertSame(named, sent.get(1));
    assertEquals(bare, sent.get(0).toBuilder().clearEventId().build());
    assertNotEquals(sent.get(0).getEventId(), sent.get(2).getEventId());
  }

  @Test
  void emptyTextIsAPartWithContent() throws InvalidProtocolBufferException {
    for (var event : List.of(Events.user(""), Events.assistant(""), Events.system(""), Events.assistant(Events.text("")))) {
      assertTrue(SessionEvent.parseFrom(event.toByteString()).getMessage().getParts(0).hasText());
    }
    assertTrue(Events.toolResult("c", "f", "").getMessage().getParts(0).getToolResult().getParts(0).hasText());
    assertFalse(Events.assistant(Part.getDefaultInstance()).getMessage().getParts(0).hasText());
  }

  @Test
  void buildersSetRoleAndText() {
    assertEquals(Role.ROLE_USER, Events.user("a").getMessage().getRole());
    assertEquals(Role.ROLE_SYSTEM, Events.system("a").getMessage().getRole());
    assertEquals(Role.ROLE_ASSISTANT, Events.assistant("a").getMessage().getRole());
    assertEquals("a\nb", Events.textOf(Events.assistant(Events.text("a"), Events.toolCall("1", "t", "{}"), Events.text("b"))));
    assertEquals("", Events.textOf(SessionEvent.getDefaultInstance()));
  }

  @Test
  void toolCallsAreVerbatim() {
    var call = Events.assistant(Events.toolCall("c1", "weather", "{ \"in\": 1.0 }")).getMessage().getParts(0).getToolCall();
    assertEquals("c1", call.getId());
    assertEquals("weather", call.getName());
    assertEquals("function", call.getKind());
    assertEquals("{ \"in\": 1.0 }", call.getArgumentsJson());
  }

  @Test
  void toolResultsAreTextOrJson() {
    var text = Events.toolError("c1", "weather", "no such town");
    assertEquals(Role.ROLE_TOOL, text.getMessage().getRole());
    var result = text.getMessage().getParts(0).getToolResult();
    assertEquals("no such town", result.getParts(0).getText());
    assertTrue(result.getIsError());
    assertEquals("", Events.textOf(text), "a result is not the message's text");

    var json = Events.toolResultJson("c1", "weather", "{\"c\":20}").getMessage().getParts(0).getToolResult();
    assertEquals("{\"c\":20}", json.getStructuredJson());
    assertEquals(0, json.getPartsCount());
    assertTrue(!json.getIsError());
  }
}

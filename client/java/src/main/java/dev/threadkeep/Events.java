package dev.threadkeep;

import dev.threadkeep.v1.ChatMessage;
import dev.threadkeep.v1.MemoryEntry;
import dev.threadkeep.v1.Part;
import dev.threadkeep.v1.Role;
import dev.threadkeep.v1.SessionEvent;
import dev.threadkeep.v1.ToolCallPart;
import dev.threadkeep.v1.ToolResultPart;
import java.security.SecureRandom;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.stream.Collectors;

/**
 * Building events, and reading their text. Whatever else an event may carry is set on the message:
 * {@code Events.user("Hi").toBuilder().setAuthor("ada").build()}.
 */
public final class Events {
  private static final SecureRandom RANDOM = new SecureRandom();

  private Events() {}

  /**
   * What the user said. On the root branch it starts a turn.
   *
   * @param text what was said
   * @return an event without an id
   */
  public static SessionEvent user(String text) {
    return event(Role.ROLE_USER, text(text));
  }

  /**
   * What the model said.
   *
   * @param text what was said
   * @return an event without an id
   */
  public static SessionEvent assistant(String text) {
    return event(Role.ROLE_ASSISTANT, text(text));
  }

  /**
   * What the model said or thought, and the tool calls that it asks for.
   *
   * @param parts see {@link #text(String)} and {@link #toolCall(String, String, String)}
   * @return an event without an id
   */
  public static SessionEvent assistant(Part... parts) {
    return event(Role.ROLE_ASSISTANT, parts);
  }

  /**
   * Instructions to the model.
   *
   * @param text the instructions
   * @return an event without an id
   */
  public static SessionEvent system(String text) {
    return event(Role.ROLE_SYSTEM, text(text));
  }

  /**
   * The text that answers one tool call.
   *
   * @param callId the id of the call
   * @param name the tool's name, may be empty
   * @param text the result, or how the tool failed
   * @param isError whether it failed
   * @return an event without an id
   */
  public static SessionEvent toolResult(String callId, String name, String text, boolean isError) {
    return toolResult(ToolResultPart.newBuilder().setCallId(callId).setName(name).addParts(text(text)).setIsError(isError));
  }

  /**
   * The structured result of one tool call.
   *
   * @param callId the id of the call
   * @param name the tool's name, may be empty
   * @param json the result as JSON text, kept verbatim
   * @param isError whether the tool failed
   * @return an event without an id
   */
  public static SessionEvent toolResultJson(String callId, String name, String json, boolean isError) {
    return toolResult(ToolResultPart.newBuilder().setCallId(callId).setName(name).setStructuredJson(json).setIsError(isError));
  }

  /**
   * An event of any role.
   *
   * @param role who speaks
   * @param parts the content, in order
   * @return an event without an id
   */
  public static SessionEvent event(Role role, Part... parts) {
    var message = ChatMessage.newBuilder().setRole(role).addAllParts(Arrays.asList(parts));
    return SessionEvent.newBuilder().setMessage(message).build();
  }

  /**
   * Plain text: what keyword filters and search look at.
   *
   * @param value the text
   * @return a part
   */
  public static Part text(String value) {
    return Part.newBuilder().setText(value).build();
  }

  /**
   * A request of the model to call a tool, of the kind "function".
   *
   * @param id the call's id, which the result will bear
   * @param name the tool's name
   * @param argumentsJson the arguments as the model wrote them, kept verbatim
   * @return a part
   */
  public static Part toolCall(String id, String name, String argumentsJson) {
    var call = ToolCallPart.newBuilder().setId(id).setName(name).setKind("function").setArgumentsJson(argumentsJson);
    return Part.newBuilder().setToolCall(call).build();
  }

  /**
   * The event's text as search sees it.
   *
   * @param event any event
   * @return its text parts joined by a line feed, empty if it has none
   */
  public static String textOf(SessionEvent event) {
    return textOf(event.getMessage());
  }

  /**
   * The same of what is remembered.
   *
   * @param entry any entry
   * @return its text parts joined by a line feed, empty if it has none
   */
  public static String textOf(MemoryEntry entry) {
    return textOf(entry.getContent());
  }

  private static String textOf(ChatMessage message) {
    return message.getPartsList().stream()
        .filter(Part::hasText)
        .map(Part::getText)
        .collect(Collectors.joining("\n"));
  }

  /**
   * A new id: a UUIDv7, so ids sort by the time they were made, to a quarter of a microsecond where the clock is as fine.
   *
   * @return the id, 36 characters
   */
  public static String newId() {
    Instant now = Instant.now();
    long fraction = now.getNano() % 1_000_000 * 4096L / 1_000_000;
    long high = now.toEpochMilli() << 16 | 7 << 12 | fraction;
    long low = RANDOM.nextLong() >>> 2 | Long.MIN_VALUE;
    return new UUID(high, low).toString();
  }

  /**
   * The events, each with an id. Append these, and again after an error: nothing is stored twice.
   *
   * @param events any events; they are not changed
   * @return those that had an id, and copies with a new id of the others
   */
  public static List<SessionEvent> withIds(List<SessionEvent> events) {
    return events.stream().map(event -> event.getEventId().isEmpty() ? event.toBuilder().setEventId(newId()).build() : event).toList();
  }

  private static SessionEvent toolResult(ToolResultPart.Builder result) {
    return event(Role.ROLE_TOOL, Part.newBuilder().setToolResult(result).build());
  }
}

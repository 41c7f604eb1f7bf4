package dev.threadkeep;

import dev.threadkeep.v1.ChatMessage;
import dev.threadkeep.v1.MemoryEntry;
import dev.threadkeep.v1.MediaPart;
import dev.threadkeep.v1.Part;
import dev.threadkeep.v1.ReasoningPart;
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
 * Builds events and reads their text. Set other fields on the message: {@code
 * Events.user("Hi").toBuilder().setAuthor("ada").build()}.
 */
public final class Events {
  private static final SecureRandom RANDOM = new SecureRandom();

  private Events() {}

  /**
   * Returns a user message. On the root branch it starts a turn.
   *
   * @param text text of the message
   * @return an event without an id
   */
  public static SessionEvent user(String text) {
    return event(Role.ROLE_USER, text(text));
  }

  /**
   * Returns a model message.
   *
   * @param text text of the message
   * @return an event without an id
   */
  public static SessionEvent assistant(String text) {
    return event(Role.ROLE_ASSISTANT, text(text));
  }

  /**
   * Returns a model message with reasoning or tool calls.
   *
   * @param parts see {@link #text(String)} and {@link #toolCall(String, String, String)}
   * @return an event without an id
   */
  public static SessionEvent assistant(Part... parts) {
    return event(Role.ROLE_ASSISTANT, parts);
  }

  /**
   * Returns instructions to the model.
   *
   * @param text the instructions
   * @return an event without an id
   */
  public static SessionEvent system(String text) {
    return event(Role.ROLE_SYSTEM, text(text));
  }

  /**
   * Returns the result of one tool call as text.
   *
   * @param callId id of the call
   * @param name name of the tool, may be empty
   * @param text the result
   * @return an event without an id
   */
  public static SessionEvent toolResult(String callId, String name, String text) {
    return toolResult(ToolResultPart.newBuilder().setCallId(callId).setName(name).addParts(text(text)));
  }

  /**
   * Returns the structured result of one tool call.
   *
   * @param callId id of the call
   * @param name name of the tool, may be empty
   * @param json result as JSON text, stored verbatim
   * @return an event without an id
   */
  public static SessionEvent toolResultJson(String callId, String name, String json) {
    return toolResult(ToolResultPart.newBuilder().setCallId(callId).setName(name).setStructuredJson(json));
  }

  /**
   * Returns the failure of one tool call as text.
   *
   * @param callId id of the call
   * @param name name of the tool, may be empty
   * @param text description of the failure
   * @return an event without an id
   */
  public static SessionEvent toolError(String callId, String name, String text) {
    return toolResult(ToolResultPart.newBuilder().setCallId(callId).setName(name).addParts(text(text)).setIsError(true));
  }

  /**
   * Returns the structured failure of one tool call.
   *
   * @param callId id of the call
   * @param name name of the tool, may be empty
   * @param json failure as JSON text, stored verbatim
   * @return an event without an id
   */
  public static SessionEvent toolErrorJson(String callId, String name, String json) {
    return toolResult(ToolResultPart.newBuilder().setCallId(callId).setName(name).setStructuredJson(json).setIsError(true));
  }

  /**
   * Returns an event of any role.
   *
   * @param role role of the message
   * @param parts content, in order
   * @return an event without an id
   */
  public static SessionEvent event(Role role, Part... parts) {
    var message = ChatMessage.newBuilder().setRole(role).addAllParts(Arrays.asList(parts));
    return SessionEvent.newBuilder().setMessage(message).build();
  }

  /**
   * Returns a part of plain text, which keyword filters and search look at.
   *
   * @param value the text
   * @return a part
   */
  public static Part text(String value) {
    return Part.newBuilder().setText(value).build();
  }

  /**
   * Returns a part of the model's reasoning.
   *
   * @param value text of the reasoning
   * @return a part
   */
  public static Part reasoning(String value) {
    return Part.newBuilder().setReasoning(ReasoningPart.newBuilder().setText(value)).build();
  }

  /**
   * Returns a part of media.
   *
   * @param mimeType type of the media, for example "image/png"
   * @param uri where they are
   * @return a part
   */
  public static Part media(String mimeType, String uri) {
    return Part.newBuilder().setMedia(MediaPart.newBuilder().setMimeType(mimeType).setUri(uri)).build();
  }

  /**
   * Returns a tool call of kind "function".
   *
   * @param id id of the call; the result has the same id
   * @param name name of the tool
   * @param argumentsJson arguments as the model wrote them, stored verbatim
   * @return a part
   */
  public static Part toolCall(String id, String name, String argumentsJson) {
    var call = ToolCallPart.newBuilder().setId(id).setName(name).setKind("function").setArgumentsJson(argumentsJson);
    return Part.newBuilder().setToolCall(call).build();
  }

  /**
   * Returns the text of an event as search sees it.
   *
   * @param event any event
   * @return its text parts joined by line feeds, empty if there are none
   */
  public static String textOf(SessionEvent event) {
    return textOf(event.getMessage());
  }

  /**
   * Returns the text of a memory entry as search sees it.
   *
   * @param entry any entry
   * @return its text parts joined by line feeds, empty if there are none
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
   * Returns a UUIDv7. Ids sort by creation time, to a quarter of a microsecond where the clock is as precise.
   *
   * @return the id, 36 characters
   */
  public static String newEventId() {
    Instant now = Instant.now();
    long fraction = now.getNano() % 1_000_000 * 4096L / 1_000_000;
    long high = now.toEpochMilli() << 16 | 7 << 12 | fraction;
    long low = RANDOM.nextLong() >>> 2 | Long.MIN_VALUE;
    return new UUID(high, low).toString();
  }

  /**
   * Returns the events with ids. Appending them again after an error stores nothing twice.
   *
   * @param events any events; they are not changed
   * @return events that had an id, and copies with new ids of the others
   */
  public static List<SessionEvent> withIds(List<SessionEvent> events) {
    return events.stream().map(event -> event.getEventId().isEmpty() ? event.toBuilder().setEventId(newEventId()).build() : event).toList();
  }

  private static SessionEvent toolResult(ToolResultPart.Builder result) {
    return event(Role.ROLE_TOOL, Part.newBuilder().setToolResult(result).build());
  }
}

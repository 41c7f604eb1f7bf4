package dev.threadkeep.spring.ai;

import com.google.protobuf.Timestamp;
import dev.threadkeep.v1.Role;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.springframework.ai.chat.messages.Message;
import org.springframework.ai.chat.messages.MessageType;
import org.springframework.ai.session.SessionEvent;
import tools.jackson.core.JacksonException;

/** Events of Spring AI Session as events of the log, and back. */
final class SpringEvents {
  /** Key of an event's metadata that names the agent, which other frameworks call its author. */
  static final String AUTHOR = "author";

  /** The compaction_source of events that a compaction of the caller inserts, unless they name another. */
  static final String COMPACTION = "spring-ai-session";

  private static final String RESULTS = "#results";

  private SpringEvents() {}

  static dev.threadkeep.v1.SessionEvent write(SessionEvent event) {
    Map<String, Object> metadata = event.getMetadata();
    var found = SpringMessages.eventOf(event.getMessage()).toBuilder()
        .setEventId(event.getId())
        .setEventTime(timestamp(event.getTimestamp()))
        .setMetadataJson(Values.write(metadata))
        .setSynthetic(event.isSynthetic());
    if (event.isSynthetic()) {
      found.setCompactionSource(String.valueOf(metadata.getOrDefault(SessionEvent.METADATA_COMPACTION_SOURCE, COMPACTION)));
    }
    if (event.getBranch() != null) {
      found.setBranch(event.getBranch());
    }
    if (metadata.get(AUTHOR) instanceof String author) {
      found.setAuthor(author);
    }
    return found.build();
  }

  static List<SessionEvent> read(String sessionId, dev.threadkeep.v1.SessionEvent event) {
    List<SessionEvent> found = new ArrayList<>();
    for (Message message : SpringMessages.messagesOf(event)) {
      found.add(SessionEvent.builder()
          .id(event.getEventId() + (found.isEmpty() ? "" : RESULTS))
          .sessionId(sessionId)
          .timestamp(instant(event.hasEventTime() ? event.getEventTime() : event.getRecordTime()))
          .message(message)
          .metadata(metadata(event))
          .branch(event.getBranch().isEmpty() ? null : event.getBranch())
          .archived(event.getArchived())
          .build());
    }
    return found;
  }

  /** Returns the id of the stored event, of which this may be the second message. */
  static String storedId(SessionEvent event) {
    String id = event.getId();
    return id.endsWith(RESULTS) ? id.substring(0, id.length() - RESULTS.length()) : id;
  }

  static Role role(MessageType type) {
    return switch (type) {
      case USER -> Role.ROLE_USER;
      case ASSISTANT -> Role.ROLE_ASSISTANT;
      case SYSTEM -> Role.ROLE_SYSTEM;
      case TOOL -> Role.ROLE_TOOL;
    };
  }

  static Timestamp timestamp(Instant time) {
    return Timestamp.newBuilder().setSeconds(time.getEpochSecond()).setNanos(time.getNano()).build();
  }

  static Instant instant(Timestamp time) {
    return Instant.ofEpochSecond(time.getSeconds(), time.getNanos());
  }

  private static Map<String, Object> metadata(dev.threadkeep.v1.SessionEvent event) {
    Map<String, Object> found = new LinkedHashMap<>(given(event));
    found.values().removeIf(java.util.Objects::isNull); // Spring's metadata has none
    if (event.getSynthetic()) {
      found.put(SessionEvent.METADATA_SYNTHETIC, true);
      found.putIfAbsent(SessionEvent.METADATA_COMPACTION_SOURCE, event.getCompactionSource());
    }
    if (!event.getAuthor().isEmpty()) {
      found.putIfAbsent(AUTHOR, event.getAuthor());
    }
    return found;
  }

  private static Map<String, Object> given(dev.threadkeep.v1.SessionEvent event) {
    try {
      return Values.read(event.getMetadataJson());
    } catch (JacksonException | IllegalArgumentException other) {
      return Map.of();
    }
  }
}

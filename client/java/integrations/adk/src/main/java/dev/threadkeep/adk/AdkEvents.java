package dev.threadkeep.adk;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.adk.events.Event;
import com.google.protobuf.ByteString;
import com.google.protobuf.Timestamp;
import com.google.protobuf.util.Timestamps;
import dev.threadkeep.v1.NativeContent;
import dev.threadkeep.v1.Part;
import dev.threadkeep.v1.Role;
import dev.threadkeep.v1.SessionEvent;
import dev.threadkeep.v1.TokenUsage;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** Events of ADK as events of the log, and back. */
final class AdkEvents {
  /** The native format, which is that of ADK for Python: see {@link Items}. */
  static final String FORMAT = "adk.event/1";

  /** The compaction_source of the summaries that ADK appends. */
  static final String COMPACTION = "google-adk";

  private static final String SIGNED = "{\"reasoning_of\":\"" + Contents.PROVIDER + "\"}";
  private static final int LONGEST_AUTHOR = 255;
  private static final int LONGEST_BRANCH = 1024;
  private static final int MOST_SEGMENTS = 64;

  private AdkEvents() {}

  /** Returns the event: its typed parts, and the item verbatim. What no field can hold is in the item only. */
  static SessionEvent write(Event event) {
    ObjectNode item = Items.write(event);
    JsonNode summary = item.path("actions").path("compaction");
    boolean summarizes = !summary.isEmpty();
    String author = Contents.text(item, "author");
    var found = SessionEvent.newBuilder()
        .setEventId(Contents.text(item, "id"))
        .setMessage(Contents.write(said(item, summary), summarizes ? "" : author))
        .setAuthor(size(author) <= LONGEST_AUTHOR ? author : "")
        .setBranch(branch(Contents.text(item, "branch")))
        .setInvocationId(Contents.text(item, "invocation_id"))
        .setSynthetic(summarizes)
        .setCompactionSource(summarizes ? COMPACTION : "")
        .setNative(NativeContent.newBuilder().setFormat(FORMAT).setContent(ByteString.copyFromUtf8(Json.text(item))));
    Timestamp time = Timestamps.fromMillis(event.timestamp());
    if (Timestamps.isValid(time)) {
      found.setEventTime(time);
    }
    if (!item.path("usage_metadata").isEmpty()) {
      found.setUsage(usage(item.path("usage_metadata")));
    }
    if (found.getMessage().getPartsList().stream().anyMatch(part -> !part.getReasoning().getSignature().isEmpty())) {
      found.setMetadataJson(SIGNED);
    }
    return found.build();
  }

  /** Returns the events: those that an ADK wrote as they were, the others as its kind of message. Erased ones are left out. */
  static List<Event> read(List<SessionEvent> stored) {
    Map<String, String> names = new HashMap<>();
    parts(stored).filter(Part::hasToolCall).map(Part::getToolCall).forEach(call -> names.put(call.getId(), call.getName()));
    return stored.stream().filter(event -> !event.getErased()).map(event -> read(event, names)).toList();
  }

  private static Stream<Part> parts(List<SessionEvent> events) {
    return events.stream().flatMap(event -> event.getMessage().getPartsList().stream());
  }

  private static Event read(SessionEvent event, Map<String, String> names) {
    if (event.getNative().getFormat().equals(FORMAT)) {
      try {
        if (Json.parsed(event.getNative().getContent().toStringUtf8()) instanceof ObjectNode item) {
          return Items.read(item);
        }
      } catch (IllegalArgumentException written) { // by a version with other members: its parts are readable
        return rendered(event, names);
      }
    }
    return rendered(event, names);
  }

  private static Event rendered(SessionEvent event, Map<String, String> names) {
    ObjectNode item = Json.nodes().objectNode().put("id", event.getEventId());
    item.put("author", switch (event.getMessage().getRole()) {
      case ROLE_USER -> "user";
      case ROLE_SYSTEM -> "system";
      default -> event.getAuthor().isEmpty() ? "assistant" : event.getAuthor();
    });
    item.put("timestamp", milliseconds(event) / 1000.0);
    boolean own = List.of("", Contents.PROVIDER).contains(provider(event));
    Contents.read(event.getMessage(), names, own).ifPresent(content -> item.set("content", content));
    if (!event.getInvocationId().isEmpty()) {
      item.put("invocation_id", event.getInvocationId());
    }
    if (!event.getBranch().isEmpty()) {
      item.put("branch", event.getBranch());
    }
    if (event.hasUsage()) {
      TokenUsage usage = event.getUsage();
      item.putObject("usage_metadata")
          .put("prompt_token_count", usage.getInputTokens())
          .put("candidates_token_count", usage.getOutputTokens() - usage.getReasoningTokens())
          .put("thoughts_token_count", usage.getReasoningTokens())
          .put("cached_content_token_count", usage.getCachedTokens())
          .put("total_token_count", usage.getTotalTokens());
    }
    return Items.read(item);
  }

  /** Returns the time of an event in milliseconds since the epoch, as ADK counts it. */
  static long milliseconds(SessionEvent event) {
    return Timestamps.toMillis(event.hasEventTime() ? event.getEventTime() : event.getRecordTime());
  }

  private static String provider(SessionEvent event) {
    if (!event.getMetadataJson().contains("\"reasoning_of\"")) {
      return "";
    }
    return Json.object(event.getMetadataJson()).path("reasoning_of").asText("");
  }

  /** Returns what was said: a summary, the content, or in a live session a transcription. */
  private static JsonNode said(ObjectNode item, JsonNode summary) {
    for (JsonNode each : List.of(summary.path("compacted_content"), item.path("content"))) {
      if (!each.isEmpty()) {
        return each;
      }
    }
    for (Map.Entry<String, String> each : List.of(Map.entry("input_transcription", "user"), Map.entry("output_transcription", "model"))) {
      String text = item.path(each.getKey()).path("text").asText("");
      if (!text.isEmpty()) {
        ObjectNode content = Json.nodes().objectNode().put("role", each.getValue());
        content.putArray("parts").addObject().put("text", text);
        return content;
      }
    }
    return Json.nodes().missingNode();
  }

  private static TokenUsage usage(JsonNode counts) {
    return TokenUsage.newBuilder()
        .setInputTokens(count(counts, "prompt_token_count") + count(counts, "tool_use_prompt_token_count"))
        .setOutputTokens(count(counts, "candidates_token_count") + count(counts, "thoughts_token_count"))
        .setTotalTokens(count(counts, "total_token_count"))
        .setCachedTokens(count(counts, "cached_content_token_count"))
        .setReasoningTokens(count(counts, "thoughts_token_count"))
        .build();
  }

  private static long count(JsonNode counts, String name) {
    return Math.max(0, counts.path(name).asInt(0));
  }

  /** Returns the branch if an event can have it; a path has no empty segments. Others are in the item only. */
  private static String branch(String branch) {
    List<String> segments = List.of(branch.split("\\.", -1));
    boolean fits = !segments.contains("") && segments.size() <= MOST_SEGMENTS && size(branch) <= LONGEST_BRANCH;
    return fits ? branch : "";
  }

  private static int size(String text) {
    return text.getBytes(StandardCharsets.UTF_8).length;
  }
}

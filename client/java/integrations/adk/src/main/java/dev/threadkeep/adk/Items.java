package dev.threadkeep.adk;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.DecimalNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.adk.events.Event;
import com.google.adk.sessions.State;
import com.google.genai.types.Content;
import java.math.BigDecimal;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Events of ADK as items, and back. An item is the JSON that ADK for Python has for an event, so that an event of one language is an
 * event of the other: keys in snake case, times in seconds, bytes in the alphabet of base64 for URLs, no nulls.
 */
final class Items {
  /** Members whose values are data of the program, with names of its own. */
  private static final Set<String> DATA = Set.of(
      "args", "response", "state_delta", "artifact_delta", "requested_auth_configs", "custom_metadata", "custom_metadata_list", "output",
      "agent_state", "payload");

  /** Members whose values are objects by names of the program. */
  private static final Set<String> MAPS = Set.of("requested_tool_confirmations");

  private static final Set<String> BYTES = Set.of("data", "thought_signature", "sdk_blob", "image_bytes");
  private static final Pattern CAPITAL = Pattern.compile("(?<=[a-z0-9])([A-Z])");
  private static final Pattern AFTER_UNDERSCORE = Pattern.compile("(?<=[A-Za-z0-9])_([a-z0-9])");
  private static final String REMOVED = Json.parsed(Json.text(State.REMOVED)).textValue();

  /** Where Java's form is kept if Python's, a plain object, cannot hold it. Python ignores members of an event that it does not know. */
  private static final String METADATA = "custom_metadata_list";
  private static final String DELETED = "deleted_artifact_ids";

  private Items() {}

  /** Returns the item of an event, without temporary keys of state. */
  static ObjectNode write(Event event) {
    ObjectNode item = (ObjectNode) converted(Json.tree(event), true);
    item.set("timestamp", seconds(item.path("timestamp")));
    if (item.path("actions") instanceof ObjectNode actions) {
      if (actions.path("state_delta") instanceof ObjectNode delta) {
        actions.set("state_delta", writtenDelta(delta));
      }
      if (actions.path("compaction") instanceof ObjectNode summary) {
        summary.set("start_timestamp", seconds(summary.path("start_timestamp")));
        summary.set("end_timestamp", seconds(summary.path("end_timestamp")));
      }
      if (actions.has(DELETED)) { // Python's actions may have no members of others
        item.set(DELETED, actions.remove(DELETED));
      }
    }
    if (item.path("custom_metadata") instanceof ArrayNode metadata) {
      ObjectNode object = Metadata.object(metadata);
      item.set("custom_metadata", object);
      if (!Metadata.list(object).equals(metadata)) {
        item.set(METADATA, metadata);
      }
    }
    return item;
  }

  /** Returns the event of an item. Throws IllegalArgumentException for an item that is no event. */
  static Event read(ObjectNode stored) {
    ObjectNode item = (ObjectNode) converted(stored, false);
    item.put("timestamp", milliseconds(item.path("timestamp")));
    if (item.path("actions") instanceof ObjectNode actions) {
      if (actions.path("compaction") instanceof ObjectNode summary) {
        summary.put("startTimestamp", milliseconds(summary.path("startTimestamp")));
        summary.put("endTimestamp", milliseconds(summary.path("endTimestamp")));
      }
      if (item.has("deletedArtifactIds")) {
        actions.set("deletedArtifactIds", item.remove("deletedArtifactIds"));
      }
    }
    if (item.path("customMetadata") instanceof ObjectNode metadata) {
      item.set("customMetadata", item.path("customMetadataList") instanceof ArrayNode own ? own : Metadata.list(metadata));
    }
    return Json.as(item, Event.class);
  }

  /** Returns the content of an item's. */
  static Content content(ObjectNode stored) {
    return Json.as(converted(stored, false), Content.class);
  }

  private static ObjectNode writtenDelta(ObjectNode delta) {
    ObjectNode kept = Json.nodes().objectNode();
    delta.properties().forEach(each -> {
      if (!each.getKey().startsWith(State.TEMP_PREFIX)) {
        boolean removed = REMOVED.equals(each.getValue().textValue());
        kept.set(each.getKey(), removed ? Json.nodes().nullNode() : each.getValue());
      }
    });
    return kept;
  }

  private static JsonNode seconds(JsonNode milliseconds) {
    return DecimalNode.valueOf(BigDecimal.valueOf(milliseconds.longValue(), 3));
  }

  private static long milliseconds(JsonNode seconds) {
    return Math.round(seconds.doubleValue() * 1000);
  }

  private static JsonNode converted(JsonNode value, boolean toPython) {
    if (value instanceof ArrayNode items) {
      ArrayNode found = Json.nodes().arrayNode();
      items.forEach(each -> found.add(converted(each, toPython)));
      return found;
    }
    if (!(value instanceof ObjectNode)) {
      return value;
    }
    ObjectNode found = Json.nodes().objectNode();
    value.properties().forEach(each -> {
      if (!each.getValue().isNull()) {
        String name = toPython ? snakeCase(each.getKey()) : camelCase(each.getKey());
        found.set(name, member(toPython ? name : each.getKey(), each.getValue(), toPython));
      }
    });
    return found;
  }

  /** Returns the value of a member, whose name is Python's. */
  private static JsonNode member(String name, JsonNode value, boolean toPython) {
    if (DATA.contains(name)) {
      return value;
    }
    if (MAPS.contains(name)) {
      ObjectNode found = Json.nodes().objectNode();
      value.properties().forEach(each -> found.set(each.getKey(), converted(each.getValue(), toPython)));
      return found;
    }
    if (BYTES.contains(name) && value.isTextual()) {
      String text = value.textValue();
      return Json.nodes().textNode(toPython ? text.replace('+', '-').replace('/', '_') : text.replace('-', '+').replace('_', '/'));
    }
    return converted(value, toPython);
  }

  private static String snakeCase(String name) {
    return CAPITAL.matcher(name).replaceAll("_$1").toLowerCase(Locale.ROOT);
  }

  private static String camelCase(String name) {
    return AFTER_UNDERSCORE.matcher(name).replaceAll(found -> found.group(1).toUpperCase(Locale.ROOT));
  }

  /** Custom metadata: a list of keys and values in Java, an object in Python. */
  private static final class Metadata {
    private static final List<String> VALUES = List.of("stringValue", "numericValue");

    static ObjectNode object(ArrayNode list) {
      ObjectNode found = Json.nodes().objectNode();
      for (JsonNode each : list) {
        JsonNode value = each.path("stringListValue").path("values");
        for (String name : VALUES) {
          value = value.isMissingNode() ? each.path(name) : value;
        }
        found.set(each.path("key").asText(), value.isMissingNode() ? Json.nodes().nullNode() : value);
      }
      return found;
    }

    static ArrayNode list(ObjectNode object) {
      ArrayNode found = Json.nodes().arrayNode();
      object.properties().forEach(each -> {
        ObjectNode entry = found.addObject().put("key", each.getKey());
        JsonNode value = each.getValue();
        if (value.isArray() && value.valueStream().allMatch(JsonNode::isTextual)) {
          entry.putObject("stringListValue").set("values", value);
        } else if (value.isNumber()) {
          entry.set("numericValue", value);
        } else if (!value.isNull()) {
          entry.put("stringValue", value.isTextual() ? value.textValue() : Json.text(value));
        }
      });
      return found;
    }
  }
}

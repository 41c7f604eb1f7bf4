package dev.threadkeep.adk;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.ByteString;
import dev.threadkeep.Events;
import dev.threadkeep.v1.ChatMessage;
import dev.threadkeep.v1.DataPart;
import dev.threadkeep.v1.MediaPart;
import dev.threadkeep.v1.Part;
import dev.threadkeep.v1.ReasoningPart;
import dev.threadkeep.v1.Role;
import dev.threadkeep.v1.ToolCallPart;
import dev.threadkeep.v1.ToolResultPart;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** Contents of Gemini, in snake case, as messages, and back. */
final class Contents {
  /** The type of data parts, and the provider that signs reasoning. */
  static final String PROVIDER = "gemini";

  private static final String DATA_URL = "data:";
  private static final String USER = "user";

  /** Keys of a function's response that alone mean: this is all it returned. */
  private static final Set<String> OUTPUTS = Set.of("result", "output", "error");

  private Contents() {}

  /** Returns the message. Results of functions are TOOL; otherwise "user" as author, or as role without one, is USER. */
  static ChatMessage write(JsonNode content, String author) {
    List<Part> parts = new ArrayList<>();
    content.path("parts").forEach(each -> add(parts, each));
    boolean results = parts.stream().anyMatch(Part::hasToolResult);
    String whose = author.isEmpty() ? text(content, "role") : author;
    Role role = results ? Role.ROLE_TOOL : !parts.isEmpty() && whose.equals(USER) ? Role.ROLE_USER : Role.ROLE_ASSISTANT;
    return ChatMessage.newBuilder().setRole(role).addAllParts(parts).build();
  }

  /**
   * Returns the content of a message; empty without parts.
   *
   * @param names names of tools by call id, for results that have none
   * @param signed whether signatures of its reasoning are kept
   */
  static Optional<ObjectNode> read(ChatMessage message, Map<String, String> names, boolean signed) {
    ArrayNode parts = Json.nodes().arrayNode();
    String signature = "";
    for (Part part : message.getPartsList()) {
      var reasoning = part.getReasoning();
      ObjectNode thought = object().put("text", reasoning.getText()).put("thought", true);
      List<ObjectNode> said = reasoning.getText().isEmpty() ? read(part, names) : List.of(thought);
      if (signed && !reasoning.getSignature().isEmpty()) {
        signature = base64(reasoning.getSignature());
      }
      for (ObjectNode each : said) {
        parts.add(signature.isEmpty() ? each : each.put("thought_signature", signature));
        signature = "";
      }
    }
    String role = message.getRole() == Role.ROLE_ASSISTANT ? "model" : USER;
    return parts.isEmpty() ? Optional.empty() : Optional.of(object().put("role", role).set("parts", parts));
  }

  private static void add(List<Part> parts, JsonNode part) {
    ByteString signature = bytes(part, "thought_signature");
    if (part.path("thought").asBoolean() && part.has("text")) {
      parts.add(Part.newBuilder().setReasoning(ReasoningPart.newBuilder().setText(text(part, "text")).setSignature(signature)).build());
      return;
    }
    if (!signature.isEmpty()) {
      parts.add(Part.newBuilder().setReasoning(ReasoningPart.newBuilder().setSignature(signature)).build());
    }
    if (part.has("text")) {
      parts.add(Events.text(text(part, "text")));
    } else if (part.path("function_call") instanceof ObjectNode call && !call.isEmpty()) {
      var made = ToolCallPart.newBuilder().setId(text(call, "id")).setName(text(call, "name")).setKind("function");
      parts.add(Part.newBuilder().setToolCall(made.setArgumentsJson(call.has("args") ? Json.text(call.get("args")) : "")).build());
    } else if (part.path("function_response") instanceof ObjectNode response && !response.isEmpty()) {
      parts.add(Part.newBuilder().setToolResult(result(response)).build());
    } else {
      media(part).or(() -> data(part)).ifPresent(parts::add);
    }
  }

  /** Returns the result. A response with only "result", "output" or "error" is that value, as ADK makes it of what a tool returns. */
  private static ToolResultPart result(ObjectNode response) {
    JsonNode value = response.path("response");
    var found = ToolResultPart.newBuilder().setCallId(text(response, "id")).setName(text(response, "name")).setIsError(value.hasNonNull("error"));
    if (value.size() == 1 && value.isObject() && OUTPUTS.contains(value.fieldNames().next())) {
      value = value.iterator().next();
    }
    if (value.isTextual()) {
      found.addParts(Events.text(Json.clean(value.textValue())));
    } else if (!value.isNull() && !value.isMissingNode()) {
      found.setStructuredJson(Json.text(value));
    }
    response.path("parts").forEach(each -> media(each).ifPresent(found::addParts));
    return found.build();
  }

  private static Optional<Part> media(JsonNode part) {
    JsonNode source = part.path("inline_data").isEmpty() ? part.path("file_data") : part.path("inline_data");
    if (source.isEmpty()) {
      return Optional.empty();
    }
    var found = MediaPart.newBuilder().setMimeType(text(source, "mime_type")).setName(text(source, "display_name"));
    if (part.path("inline_data").isEmpty()) {
      found.setUri(text(source, "file_uri"));
    } else {
      found.setData(bytes(source, "data"));
    }
    return Optional.of(Part.newBuilder().setMedia(found).build());
  }

  private static Optional<Part> data(JsonNode part) {
    ObjectNode rest = ((ObjectNode) part).deepCopy();
    rest.remove("thought_signature");
    var data = DataPart.newBuilder().setType(PROVIDER).setJson(Json.text(rest));
    return rest.isEmpty() ? Optional.empty() : Optional.of(Part.newBuilder().setData(data).build());
  }

  /** Returns what a part is for Gemini; nothing for reasoning. */
  private static List<ObjectNode> read(Part part, Map<String, String> names) {
    List<ObjectNode> found = new ArrayList<>();
    switch (part.getContentCase()) {
      case TEXT -> {
        if (!part.getText().isEmpty()) {
          found.add(object().put("text", part.getText()));
        }
      }
      case TOOL_CALL -> {
        ToolCallPart call = part.getToolCall();
        ObjectNode made = object().put("id", call.getId()).put("name", call.getName());
        found.add(object().set("function_call", made.set("args", Json.object(call.getArgumentsJson()))));
      }
      case TOOL_RESULT -> {
        found.add(object().set("function_response", response(part.getToolResult(), names)));
        part.getToolResult().getPartsList().stream().filter(Part::hasMedia).forEach(each -> found.add(media(each.getMedia())));
      }
      case MEDIA -> found.add(media(part.getMedia()));
      case DATA -> {
        if (part.getData().getType().equals(PROVIDER)) {
          found.add(Json.object(part.getData().getJson()));
        }
      }
      default -> { }
    }
    return found;
  }

  /** Returns the response of a function. Text is its "output", or its "error". */
  private static ObjectNode response(ToolResultPart result, Map<String, String> names) {
    String said = result.getPartsList().stream().filter(Part::hasText).map(Part::getText).collect(Collectors.joining("\n"));
    ObjectNode value = result.getStructuredJson().isEmpty() ? object().put("output", said) : Json.object(result.getStructuredJson());
    if (result.getIsError()) {
      value = object().set("error", value.has("output") ? value.get("output") : value);
    }
    String name = result.getName().isEmpty() ? names.getOrDefault(result.getCallId(), "unknown") : result.getName();
    return object().put("id", result.getCallId()).put("name", name).set("response", value);
  }

  private static ObjectNode media(MediaPart media) {
    if (media.hasData()) {
      return inline(media.getMimeType(), base64(media.getData()));
    }
    String uri = media.getUri();
    int encoded = uri.indexOf(";base64,");
    if (uri.startsWith(DATA_URL) && encoded > 0) {
      String own = uri.substring(DATA_URL.length(), encoded).split(";", 2)[0];
      return inline(media.getMimeType().isEmpty() ? own : media.getMimeType(), uri.substring(encoded + ";base64,".length()));
    }
    ObjectNode file = object().put("mime_type", media.getMimeType()).put("file_uri", uri.isEmpty() ? media.getFileId() : uri);
    return object().set("file_data", file);
  }

  private static ObjectNode inline(String mimeType, String base64) {
    return object().set("inline_data", object().put("mime_type", mimeType).put("data", base64));
  }

  private static ObjectNode object() {
    return Json.nodes().objectNode();
  }

  static String text(JsonNode holder, String key) {
    return Json.clean(holder.path(key).asText(""));
  }

  private static String base64(ByteString bytes) {
    return Base64.getUrlEncoder().encodeToString(bytes.toByteArray());
  }

  /** Returns bytes in base64, in either alphabet; none for a text that is not base64. */
  private static ByteString bytes(JsonNode holder, String key) {
    try {
      return ByteString.copyFrom(Base64.getUrlDecoder().decode(holder.path(key).asText("").replace('+', '-').replace('/', '_')));
    } catch (IllegalArgumentException invalid) {
      return ByteString.EMPTY;
    }
  }
}

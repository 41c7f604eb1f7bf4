package dev.threadkeep.spring.ai;

import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.springframework.ai.chat.messages.AssistantMessage;
import org.springframework.ai.chat.messages.AssistantMessage.ToolCall;
import org.springframework.ai.chat.messages.Message;
import org.springframework.ai.chat.messages.MessageType;
import org.springframework.ai.chat.messages.SystemMessage;
import org.springframework.ai.chat.messages.ToolResponseMessage;
import org.springframework.ai.chat.messages.ToolResponseMessage.ToolResponse;
import org.springframework.ai.chat.messages.UserMessage;
import org.springframework.ai.content.Media;
import org.springframework.ai.content.MediaContent;
import org.springframework.util.MimeType;

/** A message as JSON, and back. Its fields are those of Spring AI's classes. */
final class NativeMessages {
  private NativeMessages() {}

  static Map<String, Object> write(Message message) {
    Map<String, Object> found = new LinkedHashMap<>();
    found.put("messageType", message.getMessageType().name());
    found.put("text", message.getText());
    found.put("metadata", Values.object(message.getMetadata()));
    if (message instanceof MediaContent content && !content.getMedia().isEmpty()) {
      found.put("media", content.getMedia().stream().map(NativeMessages::write).toList());
    }
    if (message instanceof AssistantMessage said && said.hasToolCalls()) {
      found.put("toolCalls", said.getToolCalls().stream()
          .map(call -> fields("id", call.id(), "type", call.type(), "name", call.name(), "arguments", call.arguments()))
          .toList());
    }
    if (message instanceof ToolResponseMessage tools) {
      found.put("responses", tools.getResponses().stream()
          .map(each -> fields("id", each.id(), "name", each.name(), "responseData", each.responseData()))
          .toList());
    }
    return found;
  }

  static Message read(Object tree) {
    if (!(tree instanceof Map<?, ?> found)) {
      throw new IllegalArgumentException("a message is an object");
    }
    String text = text(found, "text");
    Map<String, Object> metadata = Values.map(found.get("metadata"));
    metadata.remove("messageType"); // constructors add it
    List<Media> media = objects(found, "media").stream().map(NativeMessages::media).toList();
    return switch (MessageType.valueOf(text(found, "messageType"))) {
      case USER -> UserMessage.builder().text(text).media(media).metadata(metadata).build();
      case SYSTEM -> SystemMessage.builder().text(text).metadata(metadata).build();
      case ASSISTANT -> AssistantMessage.builder()
          .content(text)
          .properties(metadata)
          .toolCalls(objects(found, "toolCalls").stream().map(NativeMessages::call).toList())
          .media(media)
          .build();
      case TOOL -> ToolResponseMessage.builder()
          .responses(objects(found, "responses").stream().map(NativeMessages::response).toList())
          .metadata(metadata)
          .build();
    };
  }

  private static Map<String, Object> write(Media media) {
    var fields = fields("mimeType", media.getMimeType().toString(), "id", media.getId(), "name", media.getName());
    if (media.getData() instanceof byte[] bytes) {
      fields.put("bytes", Base64.getEncoder().encodeToString(bytes));
    } else {
      fields.put("uri", String.valueOf(media.getData()));
    }
    return fields;
  }

  private static Media media(Map<?, ?> fields) {
    String bytes = text(fields, "bytes");
    return Media.builder()
        .mimeType(MimeType.valueOf(text(fields, "mimeType")))
        .data(bytes == null ? text(fields, "uri") : Base64.getDecoder().decode(bytes))
        .id(text(fields, "id"))
        .name(text(fields, "name"))
        .build();
  }

  private static ToolCall call(Map<?, ?> fields) {
    return new ToolCall(text(fields, "id"), text(fields, "type"), text(fields, "name"), text(fields, "arguments"));
  }

  private static ToolResponse response(Map<?, ?> fields) {
    return new ToolResponse(text(fields, "id"), text(fields, "name"), text(fields, "responseData"));
  }

  private static Map<String, Object> fields(String... pairs) {
    Map<String, Object> found = new LinkedHashMap<>();
    for (int i = 0; i < pairs.length; i += 2) {
      found.put(pairs[i], pairs[i + 1]);
    }
    return found;
  }

  private static String text(Map<?, ?> fields, String key) {
    return fields.get(key) instanceof String text ? text : null;
  }

  private static List<Map<?, ?>> objects(Map<?, ?> fields, String key) {
    return fields.get(key) instanceof List<?> items ? items.stream().<Map<?, ?>>map(each -> (Map<?, ?>) each).toList() : List.of();
  }
}

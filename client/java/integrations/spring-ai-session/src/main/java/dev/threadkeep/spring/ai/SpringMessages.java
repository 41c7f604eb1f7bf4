package dev.threadkeep.spring.ai;

import com.google.protobuf.ByteString;
import dev.threadkeep.Events;
import dev.threadkeep.v1.ChatMessage;
import dev.threadkeep.v1.MediaPart;
import dev.threadkeep.v1.NativeContent;
import dev.threadkeep.v1.Part;
import dev.threadkeep.v1.ReasoningPart;
import dev.threadkeep.v1.Role;
import dev.threadkeep.v1.SessionEvent;
import dev.threadkeep.v1.ToolCallPart;
import dev.threadkeep.v1.ToolResultPart;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.springframework.ai.chat.messages.AssistantMessage;
import org.springframework.ai.chat.messages.AssistantMessage.ToolCall;
import org.springframework.ai.chat.messages.Message;
import org.springframework.ai.chat.messages.SystemMessage;
import org.springframework.ai.chat.messages.ToolResponseMessage;
import org.springframework.ai.chat.messages.ToolResponseMessage.ToolResponse;
import org.springframework.ai.chat.messages.UserMessage;
import org.springframework.ai.content.Media;
import org.springframework.ai.content.MediaContent;
import org.springframework.util.MimeType;
import org.springframework.util.MimeTypeUtils;
import tools.jackson.core.JacksonException;

/**
 * Spring AI's messages as events, and events of every adapter as Spring AI's messages. A message comes back equal: text, metadata,
 * media with ids and names, tool calls and responses. Other readers find the same in the typed parts of the event.
 */
public final class SpringMessages {
  /** Format of the native content. */
  public static final String FORMAT = "spring-ai.message/1";

  /** Key of a message's metadata under which Spring AI's models report their reasoning. */
  public static final String REASONING = "reasoningContent";

  private SpringMessages() {}

  /**
   * Returns the event of a message, without an id.
   *
   * @param message a message of any type; subclasses come back as the message of their type
   * @return the event: typed parts, and the message verbatim
   */
  public static SessionEvent eventOf(Message message) {
    var typed = ChatMessage.newBuilder().setRole(roleOf(message));
    if (message.getMetadata().get(REASONING) instanceof String thought && !thought.isEmpty()) {
      typed.addParts(Part.newBuilder().setReasoning(ReasoningPart.newBuilder().setText(thought)));
    }
    boolean responds = message instanceof ToolResponseMessage;
    if (message.getText() != null && !(message.getText().isEmpty() && (responds || hasCalls(message)))) {
      typed.addParts(Events.text(message.getText()));
    }
    if (message instanceof MediaContent content) {
      content.getMedia().forEach(media -> typed.addParts(partOf(media)));
    }
    if (message instanceof AssistantMessage said) {
      said.getToolCalls().forEach(call -> typed.addParts(partOf(call)));
    }
    if (message instanceof ToolResponseMessage tools) {
      tools.getResponses().forEach(response -> typed.addParts(partOf(response)));
    }
    var content = ByteString.copyFromUtf8(Values.text(NativeMessages.write(message)));
    var verbatim = NativeContent.newBuilder().setFormat(FORMAT).setContent(content);
    return SessionEvent.newBuilder().setMessage(typed).setNative(verbatim).build();
  }

  /**
   * Returns the messages of an event: the one that Spring AI wrote, or what another framework wrote as Spring AI's. Only an answer
   * that also has results of its tools becomes two messages.
   *
   * @param event any event
   * @return its messages, in order; at least one
   */
  public static List<Message> messagesOf(SessionEvent event) {
    if (event.getNative().getFormat().equals(FORMAT)) {
      try {
        return List.of(NativeMessages.read(Values.tree(event.getNative().getContent().toStringUtf8())));
      } catch (JacksonException | IllegalArgumentException written) {
        return rendered(event); // by a newer version: its parts say the same
      }
    }
    return rendered(event);
  }

  private static List<Message> rendered(SessionEvent event) {
    var parts = event.getMessage().getPartsList();
    String text = joined(parts);
    return switch (event.getMessage().getRole()) {
      case ROLE_ASSISTANT -> answered(parts, text);
      case ROLE_TOOL -> List.of(responses(parts));
      case ROLE_SYSTEM -> List.of(new SystemMessage(text));
      default -> List.of(UserMessage.builder().text(text).media(media(parts)).build());
    };
  }

  private static List<Message> answered(List<Part> parts, String text) {
    String thought = parts.stream().map(each -> each.getReasoning().getText()).filter(each -> !each.isEmpty()).collect(Collectors.joining("\n"));
    var calls = parts.stream().filter(Part::hasToolCall).map(each -> callOf(each.getToolCall())).toList();
    List<Message> found = new ArrayList<>();
    found.add(AssistantMessage.builder()
        .content(text)
        .properties(thought.isEmpty() ? Map.of() : Map.of(REASONING, thought))
        .toolCalls(calls)
        .media(media(parts))
        .build());
    if (parts.stream().anyMatch(Part::hasToolResult)) {
      found.add(responses(parts));
    }
    return found;
  }

  private static ToolResponseMessage responses(List<Part> parts) {
    var results = parts.stream().filter(Part::hasToolResult).map(each -> responseOf(each.getToolResult())).toList();
    return ToolResponseMessage.builder().responses(results).build();
  }

  private static String joined(List<Part> parts) {
    return parts.stream().filter(Part::hasText).map(Part::getText).collect(Collectors.joining("\n"));
  }

  private static ToolCall callOf(ToolCallPart call) {
    return new ToolCall(call.getId(), call.getKind().isEmpty() ? "function" : call.getKind(), call.getName(), call.getArgumentsJson());
  }

  private static ToolResponse responseOf(ToolResultPart result) {
    String data = result.getStructuredJson().isEmpty() ? joined(result.getPartsList()) : result.getStructuredJson();
    return new ToolResponse(result.getCallId(), result.getName(), data);
  }

  private static List<Media> media(List<Part> parts) {
    return parts.stream().filter(Part::hasMedia).map(Part::getMedia).filter(Predicate.not(MediaPart::hasFileId)).map(SpringMessages::mediaOf).toList();
  }

  private static Media mediaOf(MediaPart part) {
    var media = Media.builder()
        .mimeType(part.getMimeType().isEmpty() ? MimeTypeUtils.APPLICATION_OCTET_STREAM : MimeType.valueOf(part.getMimeType()))
        .data(part.hasUri() ? part.getUri() : part.getData().toByteArray());
    if (!part.getName().isEmpty()) {
      media.name(part.getName());
    }
    return media.build();
  }

  private static Role roleOf(Message message) {
    return switch (message.getMessageType()) {
      case USER -> Role.ROLE_USER;
      case ASSISTANT -> Role.ROLE_ASSISTANT;
      case SYSTEM -> Role.ROLE_SYSTEM;
      case TOOL -> Role.ROLE_TOOL;
    };
  }

  private static boolean hasCalls(Message message) {
    return message instanceof AssistantMessage said && said.hasToolCalls();
  }

  private static Part partOf(Media media) {
    var part = MediaPart.newBuilder().setMimeType(media.getMimeType().toString()).setName(media.getName());
    if (media.getData() instanceof byte[] bytes) {
      part.setData(ByteString.copyFrom(bytes));
    } else {
      part.setUri(String.valueOf(media.getData()));
    }
    return Part.newBuilder().setMedia(part).build();
  }

  private static Part partOf(ToolCall call) {
    var part = ToolCallPart.newBuilder().setId(orEmpty(call.id())).setKind(orEmpty(call.type())).setName(orEmpty(call.name()));
    return Part.newBuilder().setToolCall(part.setArgumentsJson(orEmpty(call.arguments()))).build();
  }

  /** Spring AI's tools return JSON: a text as a JSON string, which other readers get as the text. */
  private static Part partOf(ToolResponse response) {
    var part = ToolResultPart.newBuilder().setCallId(orEmpty(response.id())).setName(orEmpty(response.name()));
    String data = orEmpty(response.responseData());
    Object value = parsed(data);
    if (value instanceof String text) {
      part.addParts(Events.text(text));
    } else {
      part.setStructuredJson(data);
    }
    return Part.newBuilder().setToolResult(part).build();
  }

  private static Object parsed(String data) {
    try {
      Object tree = data.isBlank() ? data : Values.tree(data);
      return tree == null ? Map.of() : tree;
    } catch (JacksonException notJson) {
      return data;
    }
  }

  private static String orEmpty(String text) {
    return text == null ? "" : text;
  }
}

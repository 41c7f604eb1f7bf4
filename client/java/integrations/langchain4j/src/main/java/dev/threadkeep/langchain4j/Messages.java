package dev.threadkeep.langchain4j;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.ByteString;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ChatMessageDeserializer;
import dev.langchain4j.data.message.ChatMessageSerializer;
import dev.langchain4j.data.message.Content;
import dev.langchain4j.data.message.CustomMessage;
import dev.langchain4j.data.message.SystemMessage;
import dev.langchain4j.data.message.TextContent;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.threadkeep.Events;
import dev.threadkeep.v1.DataPart;
import dev.threadkeep.v1.NativeContent;
import dev.threadkeep.v1.Part;
import dev.threadkeep.v1.Role;
import dev.threadkeep.v1.SessionEvent;
import dev.threadkeep.v1.ToolResultPart;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** LangChain4j's messages as events, and events of every adapter as LangChain4j's messages. */
final class Messages {
  static final String FORMAT = "langchain4j.message/1";
  private static final ObjectMapper JSON = new ObjectMapper();

  private Messages() {}

  /** Returns the event of a message, without an id: typed parts, and LangChain4j's own JSON verbatim. */
  static SessionEvent eventOf(ChatMessage message) {
    String json = ChatMessageSerializer.messageToJson(message);
    SessionEvent.Builder event = typed(message, json).toBuilder();
    return event.setNative(NativeContent.newBuilder().setFormat(FORMAT).setContent(ByteString.copyFromUtf8(json))).build();
  }

  private static SessionEvent typed(ChatMessage message, String json) {
    if (message instanceof UserMessage user) {
      SessionEvent event = Events.event(Role.ROLE_USER, parts(user.contents()));
      return user.name() == null ? event : event.toBuilder().setAuthor(user.name()).build();
    } else if (message instanceof AiMessage said) {
      return Events.event(Role.ROLE_ASSISTANT, parts(said));
    } else if (message instanceof SystemMessage system) {
      return Events.system(system.text());
    } else if (message instanceof ToolExecutionResultMessage result) {
      return Events.event(Role.ROLE_TOOL, Part.newBuilder().setToolResult(result(result)).build());
    }
    var data = DataPart.newBuilder().setType("langchain4j." + message.type().name().toLowerCase(java.util.Locale.ROOT)).setJson(json);
    return Events.event(Role.ROLE_USER, Part.newBuilder().setData(data).build());
  }

  private static Part[] parts(List<Content> contents) {
    return contents.stream().map(Contents::partOf).toArray(Part[]::new);
  }

  private static Part[] parts(AiMessage said) {
    List<Part> parts = new ArrayList<>();
    if (said.thinking() != null) {
      parts.add(Events.reasoning(said.thinking()));
    }
    if (said.text() != null) {
      parts.add(Events.text(said.text()));
    }
    said.images().forEach(image -> parts.add(Contents.partOf(image, "")));
    for (ToolExecutionRequest call : said.toolExecutionRequests()) {
      parts.add(Events.toolCall(orEmpty(call.id()), orEmpty(call.name()), orEmpty(call.arguments())));
    }
    return parts.toArray(Part[]::new);
  }

  private static ToolResultPart.Builder result(ToolExecutionResultMessage result) {
    var part = ToolResultPart.newBuilder().setCallId(orEmpty(result.id())).setName(orEmpty(result.toolName()));
    part.setIsError(Boolean.TRUE.equals(result.isError()));
    if (result.hasSingleText() && isStructured(result.text())) {
      return part.setStructuredJson(result.text());
    }
    return part.addAllParts(List.of(parts(result.contents())));
  }

  private static boolean isStructured(String text) {
    try {
      var tree = JSON.readTree(text);
      return tree.isContainerNode();
    } catch (JsonProcessingException notJson) {
      return false;
    }
  }

  /** Returns the messages of an event: LangChain4j's own, or those of its parts; none for an event without content. */
  static List<ChatMessage> messagesOf(SessionEvent event) {
    if (event.getNative().getFormat().equals(FORMAT)) {
      try {
        return List.of(ChatMessageDeserializer.messageFromJson(event.getNative().getContent().toStringUtf8()));
      } catch (RuntimeException written) {
        return rendered(event); // by a newer version: its parts say the same
      }
    }
    return rendered(event);
  }

  private static List<ChatMessage> rendered(SessionEvent event) {
    List<Part> parts = event.getMessage().getPartsList();
    List<ChatMessage> found = new ArrayList<>();
    String text = joined(parts);
    switch (event.getMessage().getRole()) {
      case ROLE_ASSISTANT -> found.add(answer(parts, text));
      case ROLE_SYSTEM -> {
        if (!text.isBlank()) {
          found.add(SystemMessage.from(text));
        }
      }
      case ROLE_USER -> {
        List<Content> contents = Contents.of(parts);
        if (!contents.isEmpty()) {
          found.add(UserMessage.builder().name(event.getAuthor().isBlank() ? null : event.getAuthor()).contents(contents).build());
        }
      }
      default -> { }
    }
    parts.stream().filter(Part::hasToolResult).map(part -> result(part.getToolResult())).forEach(found::add);
    return found;
  }

  private static AiMessage answer(List<Part> parts, String text) {
    String thought = parts.stream().map(part -> part.getReasoning().getText()).filter(each -> !each.isEmpty()).collect(Collectors.joining("\n"));
    var calls = parts.stream().filter(Part::hasToolCall).map(Part::getToolCall)
        .map(call -> ToolExecutionRequest.builder().id(call.getId()).name(call.getName()).arguments(call.getArgumentsJson()).build())
        .toList();
    var images = Contents.images(parts);
    return AiMessage.builder()
        .text(text.isEmpty() ? null : text)
        .thinking(thought.isEmpty() ? null : thought)
        .toolExecutionRequests(calls)
        .attributes(images.isEmpty() ? Map.of() : Map.of(AiMessage.GENERATED_IMAGES_KEY, images))
        .build();
  }

  private static ToolExecutionResultMessage result(ToolResultPart result) {
    List<Content> contents = new ArrayList<>(Contents.of(result.getPartsList()));
    if (!result.getStructuredJson().isEmpty()) {
      contents.add(0, TextContent.from(result.getStructuredJson()));
    }
    var message = ToolExecutionResultMessage.builder().id(result.getCallId()).toolName(result.getName()).isError(result.getIsError() ? true : null);
    return contents.isEmpty() ? message.text("").build() : message.contents(contents).build();
  }

  private static String joined(List<Part> parts) {
    return parts.stream().filter(Part::hasText).map(Part::getText).collect(Collectors.joining("\n"));
  }

  private static String orEmpty(String text) {
    return text == null ? "" : text;
  }

  /** Whether messages are equal; those of the framework compare by value, custom ones by their attributes. */
  static boolean same(ChatMessage one, ChatMessage other) {
    if (one instanceof CustomMessage left && other instanceof CustomMessage right) {
      return left.attributes().equals(right.attributes());
    }
    return one.equals(other);
  }
}

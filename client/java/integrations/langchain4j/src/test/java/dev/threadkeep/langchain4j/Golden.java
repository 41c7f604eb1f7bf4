package dev.threadkeep.langchain4j;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.Content;
import dev.langchain4j.data.message.ImageContent;
import dev.langchain4j.data.message.TextContent;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.threadkeep.ThreadkeepClient;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Writes the golden conversation, or reads some: ADDRESS NAME write SESSION, or ADDRESS NAME read SESSION... */
public final class Golden {
  private static final String PIXEL =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  private static final ObjectMapper JSON = new ObjectMapper();

  private Golden() {}

  /** Runs the program. */
  public static void main(String[] arguments) throws JsonProcessingException {
    try (var client = ThreadkeepClient.builder().address(arguments[0]).app("golden").userId("ada").build()) {
      var store = new ThreadkeepChatMemoryStore(client);
      if (arguments[2].equals("write")) {
        List<ChatMessage> said = conversation();
        for (int i = 1; i <= said.size(); i++) {
          store.updateMessages(arguments[3], said.subList(0, i));
        }
        return;
      }
      Map<String, Object> read = new LinkedHashMap<>();
      for (String session : List.of(arguments).subList(3, arguments.length)) {
        List<Object> atoms = new ArrayList<>();
        for (ChatMessage message : store.getMessages(session)) {
          add(atoms, message);
        }
        read.put(session, atoms);
      }
      System.out.write(JSON.writeValueAsBytes(read), 0, JSON.writeValueAsBytes(read).length);
      System.out.flush();
    }
  }

  private static List<ChatMessage> conversation() {
    return List.of(
        UserMessage.from(TextContent.from("Compare the weather in Lisbon and Oslo with this map."), ImageContent.from(PIXEL, "image/png")),
        AiMessage.builder().thinking("Two cities need two calls.").text("Let me look at both.")
            .toolExecutionRequests(List.of(call("call_lisbon", "weather", "{\"city\": \"Lisbon\"}"), call("call_oslo", "weather", "{\"city\": \"Oslo\"}")))
            .build(),
        result("call_lisbon", "weather", "{\"celsius\": 21, \"sky\": \"clear\"}", null),
        result("call_oslo", "weather", "the station is offline", true),
        AiMessage.from("Lisbon has 21 °C. Oslo's station is offline. Shall I book Lisbon?", List.of(call("call_book", "book", "{\"city\": \"Lisbon\", \"nights\": 2}"))),
        result("call_book", "book", "{\"booked\": true}", null),
        AiMessage.from("Booked. Enjoy Lisbon. 🌞"));
  }

  private static ToolExecutionRequest call(String id, String name, String arguments) {
    return ToolExecutionRequest.builder().id(id).name(name).arguments(arguments).build();
  }

  private static ChatMessage result(String id, String name, String text, Boolean failed) {
    return ToolExecutionResultMessage.builder().id(id).toolName(name).text(text).isError(failed).build();
  }

  private static void add(List<Object> atoms, ChatMessage message) throws JsonProcessingException {
    if (message instanceof UserMessage user) {
      for (Content each : user.contents()) {
        atoms.add(each instanceof ImageContent image
            ? Map.of("role", "user", "kind", "media", "mime", image.image().mimeType(), "data", image.image().base64Data())
            : Map.of("role", "user", "kind", "text", "text", ((TextContent) each).text()));
      }
    } else if (message instanceof AiMessage said) {
      if (said.thinking() != null) {
        atoms.add(Map.of("role", "assistant", "kind", "reasoning", "text", said.thinking()));
      }
      if (said.text() != null) {
        atoms.add(Map.of("role", "assistant", "kind", "text", "text", said.text()));
      }
      for (ToolExecutionRequest call : said.toolExecutionRequests()) {
        atoms.add(Map.of("role", "assistant", "kind", "call", "id", call.id(), "name", call.name(), "arguments", JSON.readTree(call.arguments())));
      }
    } else if (message instanceof ToolExecutionResultMessage result) {
      atoms.add(Map.of("role", "tool", "kind", "result", "id", result.id(), "value", result.text(), "error", Boolean.TRUE.equals(result.isError())));
    }
  }
}

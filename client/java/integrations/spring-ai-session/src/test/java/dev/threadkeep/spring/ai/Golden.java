package dev.threadkeep.spring.ai;

import dev.threadkeep.ThreadkeepClient;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.springframework.ai.chat.messages.AssistantMessage;
import org.springframework.ai.chat.messages.AssistantMessage.ToolCall;
import org.springframework.ai.chat.messages.Message;
import org.springframework.ai.chat.messages.ToolResponseMessage;
import org.springframework.ai.chat.messages.ToolResponseMessage.ToolResponse;
import org.springframework.ai.chat.messages.UserMessage;
import org.springframework.ai.content.Media;
import org.springframework.ai.content.MediaContent;
import org.springframework.ai.session.EventFilter;
import org.springframework.ai.session.Session;
import org.springframework.ai.session.SessionEvent;
import org.springframework.util.MimeTypeUtils;

/** Writes the golden conversation, or reads some: ADDRESS NAME write SESSION, or ADDRESS NAME read SESSION... */
public final class Golden {
  private static final String PIXEL =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

  private Golden() {}

  /** Runs the program. */
  public static void main(String[] arguments) {
    try (var client = ThreadkeepClient.builder().address(arguments[0]).app("golden").userId("ada").build()) {
      var repository = new ThreadkeepSessionRepository(client);
      if (arguments[2].equals("write")) {
        repository.save(Session.builder().id(arguments[3]).userId("ada").build());
        conversation().forEach(each -> repository.appendEvent(SessionEvent.builder().sessionId(arguments[3]).message(each).build()));
        return;
      }
      Map<String, Object> read = new LinkedHashMap<>();
      for (String session : List.of(arguments).subList(3, arguments.length)) {
        List<Object> atoms = new ArrayList<>();
        repository.findEvents(session, EventFilter.active()).forEach(event -> add(atoms, event.getMessage()));
        read.put(session, atoms);
      }
      System.out.println(Values.text(read));
    }
  }

  private static List<Message> conversation() {
    return List.of(
        UserMessage.builder()
            .text("Compare the weather in Lisbon and Oslo with this map.")
            .media(Media.builder().mimeType(MimeTypeUtils.IMAGE_PNG).data(Base64.getDecoder().decode(PIXEL)).build())
            .build(),
        said("Let me look at both.", Map.of(SpringMessages.REASONING, "Two cities need two calls."),
            call("call_lisbon", "weather", "{\"city\": \"Lisbon\"}"), call("call_oslo", "weather", "{\"city\": \"Oslo\"}")),
        results(new ToolResponse("call_lisbon", "weather", "{\"celsius\":21,\"sky\":\"clear\"}"),
            new ToolResponse("call_oslo", "weather", "\"the station is offline\"")),
        said("Lisbon has 21 °C. Oslo's station is offline. Shall I book Lisbon?", Map.of(),
            call("call_book", "book", "{\"city\": \"Lisbon\", \"nights\": 2}")),
        results(new ToolResponse("call_book", "book", "{\"booked\":true}")),
        said("Booked. Enjoy Lisbon. 🌞", Map.of()));
  }

  private static Message said(String text, Map<String, Object> properties, ToolCall... calls) {
    return AssistantMessage.builder().content(text).properties(properties).toolCalls(List.of(calls)).build();
  }

  private static ToolCall call(String id, String name, String arguments) {
    return new ToolCall(id, "function", name, arguments);
  }

  private static Message results(ToolResponse... responses) {
    return ToolResponseMessage.builder().responses(List.of(responses)).build();
  }

  private static void add(List<Object> atoms, Message message) {
    String role = message.getMessageType().getValue();
    if (message.getMetadata().get(SpringMessages.REASONING) instanceof String thought) {
      atoms.add(Map.of("role", role, "kind", "reasoning", "text", thought));
    }
    if (message.getText() != null && !message.getText().isEmpty()) {
      atoms.add(Map.of("role", role, "kind", "text", "text", message.getText()));
    }
    if (message instanceof MediaContent content) {
      content.getMedia().forEach(each -> atoms.add(Map.of("role", role, "kind", "media", "mime", each.getMimeType().toString(),
          "data", Base64.getEncoder().encodeToString(each.getDataAsByteArray()))));
    }
    if (message instanceof AssistantMessage said) {
      said.getToolCalls().forEach(each -> atoms.add(Map.of("role", role, "kind", "call", "id", each.id(), "name", each.name(),
          "arguments", Values.tree(each.arguments()))));
    }
    if (message instanceof ToolResponseMessage tools) {
      tools.getResponses().forEach(each -> atoms.add(Map.of("role", role, "kind", "result", "id", each.id(), "value", each.responseData(),
          "error", false)));
    }
  }
}

package dev.threadkeep.adk;

import com.google.adk.events.Event;
import com.google.adk.sessions.Session;
import com.google.genai.types.Content;
import com.google.genai.types.FunctionCall;
import com.google.genai.types.FunctionResponse;
import com.google.genai.types.Part;
import dev.threadkeep.ThreadkeepClient;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Writes the golden conversation, or reads some: ADDRESS NAME write SESSION, or ADDRESS NAME read SESSION... */
public final class Golden {
  private static final String APP = "golden";
  private static final String USER = "ada";
  private static final String PIXEL =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

  private Golden() {}

  /** Runs the program. */
  public static void main(String[] arguments) {
    try (var client = ThreadkeepClient.builder().address(arguments[0]).build()) {
      var service = new ThreadkeepSessionService(client);
      if (arguments[2].equals("write")) {
        Session session = service.createSession(APP, USER, Map.of(), arguments[3]).blockingGet();
        conversation().forEach(event -> service.appendEvent(session, event).blockingGet());
      } else {
        Map<String, Object> read = new LinkedHashMap<>();
        for (String id : List.of(arguments).subList(3, arguments.length)) {
          List<Object> atoms = new ArrayList<>();
          service.listEvents(APP, USER, id).blockingGet().events().forEach(event -> add(atoms, event));
          read.put(id, atoms);
        }
        byte[] printed = Json.text(read).getBytes(StandardCharsets.UTF_8);
        System.out.write(printed, 0, printed.length);
        System.out.flush();
      }
    }
  }

  private static List<Event> conversation() {
    return List.of(
        said("user", Part.fromText("Compare the weather in Lisbon and Oslo with this map."), Part.fromBytes(Base64.getDecoder().decode(PIXEL), "image/png")),
        said("traveler", Part.builder().text("Two cities need two calls.").thought(true).build(), Part.fromText("Let me look at both."),
            call("call_lisbon", "weather", Map.of("city", "Lisbon")), call("call_oslo", "weather", Map.of("city", "Oslo"))),
        said("traveler", result("call_lisbon", "weather", Map.of("celsius", 21, "sky", "clear")),
            result("call_oslo", "weather", Map.of("error", "the station is offline"))),
        said("traveler", Part.fromText("Lisbon has 21 °C. Oslo's station is offline. Shall I book Lisbon?"),
            call("call_book", "book", Map.of("city", "Lisbon", "nights", 2))),
        said("traveler", result("call_book", "book", Map.of("booked", true))),
        said("traveler", Part.fromText("Booked. Enjoy Lisbon. 🌞")));
  }

  private static Event said(String author, Part... parts) {
    String role = author.equals("user") || parts[0].functionResponse().isPresent() ? "user" : "model";
    return Event.builder().invocationId("i1").author(author).content(Content.builder().role(role).parts(parts).build()).build();
  }

  private static Part call(String id, String name, Map<String, Object> arguments) {
    return Part.builder().functionCall(FunctionCall.builder().id(id).name(name).args(arguments).build()).build();
  }

  private static Part result(String id, String name, Map<String, Object> response) {
    return Part.builder().functionResponse(FunctionResponse.builder().id(id).name(name).response(response).build()).build();
  }

  private static void add(List<Object> atoms, Event event) {
    String role = event.author().equals("user") ? "user" : "assistant";
    for (Part part : event.content().flatMap(Content::parts).orElse(List.of())) {
      if (part.functionResponse().isPresent()) {
        Map<String, Object> response = part.functionResponse().get().response().orElse(Map.of());
        boolean failed = response.containsKey("error");
        Object value = failed ? response.get("error") : response.getOrDefault("output", response);
        atoms.add(Map.of("role", "tool", "kind", "result", "id", part.functionResponse().get().id().get(), "value", value, "error", failed));
      } else if (part.functionCall().isPresent()) {
        FunctionCall call = part.functionCall().get();
        atoms.add(Map.of("role", role, "kind", "call", "id", call.id().get(), "name", call.name().get(), "arguments", call.args().get()));
      } else if (part.inlineData().isPresent()) {
        String data = Base64.getEncoder().encodeToString(part.inlineData().get().data().get());
        atoms.add(Map.of("role", role, "kind", "media", "mime", part.inlineData().get().mimeType().get(), "data", data));
      } else if (part.text().isPresent()) {
        String kind = part.thought().orElse(false) ? "reasoning" : "text";
        atoms.add(Map.of("role", role, "kind", kind, "text", part.text().get()));
      }
    }
  }
}

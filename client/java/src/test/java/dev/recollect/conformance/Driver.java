package dev.recollect.conformance;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import dev.recollect.Changes;
import dev.recollect.Recollect;
import dev.recollect.v1.CompactionStrategy;
import dev.recollect.v1.ContextSpec;
import dev.recollect.v1.ListCompactionsRequest;
import dev.recollect.v1.ListEventsRequest;
import dev.recollect.v1.ListSessionsRequest;
import dev.recollect.v1.SearchEventsRequest;
import dev.recollect.v1.SessionRef;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Base64;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/** The conformance driver: a line of JSON is a request, a line of JSON an answer; see tests/conformance/README.md. */
public final class Driver {
  private final Map<String, Recollect> clients = new ConcurrentHashMap<>();
  private final Map<Long, Changes> watches = new ConcurrentHashMap<>();
  private final ExecutorService workers = Executors.newCachedThreadPool();

  private Driver() {}

  /** Serves requests until the input ends. */
  public static void main(String[] args) throws IOException, InterruptedException {
    var driver = new Driver();
    var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      driver.accept(JsonParser.parseString(line).getAsJsonObject());
    }
    driver.watches.values().forEach(Changes::close);
    driver.workers.shutdown();
    driver.workers.awaitTermination(5, TimeUnit.SECONDS);
    System.exit(0);
  }

  /** A watch is opened at once, so that a cancel that follows finds it. */
  private void accept(JsonObject p) {
    long id = p.get("id").getAsLong();
    if (p.get("op").getAsString().equals("watch")) {
      try {
        watches.put(id, Requests.watch(client(p), p));
      } catch (RuntimeException | IOException error) {
        say(id, "error", Requests.failure(error));
        return;
      }
    }
    workers.execute(() -> serve(id, p));
  }

  private void serve(long id, JsonObject p) {
    try {
      say(id, "ok", answer(id, p));
    } catch (RuntimeException | IOException error) {
      say(id, "error", Requests.failure(error));
    }
  }

  private JsonObject answer(long id, JsonObject p) throws IOException {
    var ok = new JsonObject();
    switch (p.get("op").getAsString()) {
      case "hello" -> {
        ok.addProperty("language", "java");
        ok.addProperty("version", Recollect.VERSION);
      }
      case "connect" -> clients.put(p.get("client").getAsString(), connect(p));
      case "close" -> clients.remove(p.get("client").getAsString()).close();
      case "call" -> ok.addProperty("response", Requests.call(client(p), p));
      case "append" -> ok.addProperty("response", packed(Requests.append(client(p), session(p), p)));
      case "pages" -> ok.add("items", pages(p));
      case "context" -> {
        var spec = p.has("spec") ? read(ContextSpec.parser(), p, "spec") : ContextSpec.getDefaultInstance();
        ok.addProperty("response", packed(client(p).context(session(p), spec)));
      }
      case "compact" -> ok.addProperty("response", packed(client(p).compact(session(p), strategy(p))));
      case "compact_with" -> {
        var done = client(p).compactWith(session(p), prompt -> p.get("summary").getAsString(), strategy(p));
        ok.addProperty("response", done.map(Driver::packed).orElse(""));
      }
      case "build" -> ok.addProperty("event", packed(Requests.build(p.get("builder").getAsString(), p.getAsJsonObject("args"))));
      case "watch" -> follow(id);
      case "cancel" -> watches.getOrDefault(p.get("target").getAsLong(), watches.get(id)).close();
      default -> throw new IllegalArgumentException("unknown op " + p.get("op"));
    }
    return ok;
  }

  private void follow(long id) {
    try (Changes changes = watches.get(id)) {
      changes.forEachRemaining(change -> say(id, "item", new JsonPrimitive(packed(change))));
    } finally {
      watches.remove(id);
    }
  }

  private JsonArray pages(JsonObject p) throws IOException {
    var client = client(p);
    var pages =
        switch (p.get("rpc").getAsString().split("/")[1]) {
          case "ListSessions" -> client.sessions(read(ListSessionsRequest.parser(), p, "request"));
          case "ListEvents" -> client.events(read(ListEventsRequest.parser(), p, "request"));
          case "SearchEvents" -> client.search(read(SearchEventsRequest.parser(), p, "request"));
          default -> client.compactions(read(ListCompactionsRequest.parser(), p, "request"));
        };
    var items = new JsonArray();
    pages.stream().limit(p.has("limit") ? p.get("limit").getAsLong() : Long.MAX_VALUE).forEach(item -> items.add(packed(item)));
    return items;
  }

  private static Recollect connect(JsonObject p) {
    long millis = p.get("timeout_ms").getAsLong();
    return Recollect.builder()
        .address(p.get("address").getAsString())
        .app(p.get("app").getAsString())
        .userId(p.get("user_id").getAsString())
        .token(p.get("token").getAsString())
        .timeout(millis == 0 ? ChronoUnit.FOREVER.getDuration() : Duration.ofMillis(millis))
        .build();
  }

  private Recollect client(JsonObject p) {
    var client = clients.get(p.get("client").getAsString());
    return p.has("timeout_ms") ? client.withTimeout(Duration.ofMillis(p.get("timeout_ms").getAsLong())) : client;
  }

  /** An id alone is for the SDK to complete. */
  private SessionRef session(JsonObject p) throws IOException {
    var ref = read(SessionRef.parser(), p, "session");
    return ref.getApp().isEmpty() && ref.getUserId().isEmpty() ? client(p).ref(ref.getSessionId()) : ref;
  }

  private static CompactionStrategy strategy(JsonObject p) throws IOException {
    return p.has("strategy") ? read(CompactionStrategy.parser(), p, "strategy") : null;
  }

  static <M> M read(Parser<M> parser, JsonObject p, String name) throws InvalidProtocolBufferException {
    return parser.parseFrom(Base64.getDecoder().decode(p.get(name).getAsString()));
  }

  static String packed(MessageLite message) {
    return Base64.getEncoder().encodeToString(message.toByteArray());
  }

  private synchronized void say(long id, String what, JsonElement value) {
    var answer = new JsonObject();
    answer.addProperty("id", id);
    answer.add(what, value);
    byte[] line = (answer + "\n").getBytes(StandardCharsets.UTF_8);
    System.out.write(line, 0, line.length);
    System.out.flush();
  }
}

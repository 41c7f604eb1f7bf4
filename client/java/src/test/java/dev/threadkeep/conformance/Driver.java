package dev.threadkeep.conformance;

import com.google.gson.*;
import com.google.protobuf.MessageLite;
import dev.threadkeep.*;
import dev.threadkeep.v1.*;
import io.grpc.ChannelCredentials;
import io.grpc.MethodDescriptor;
import io.grpc.TlsChannelCredentials;
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.Stream;

/** The conformance driver: one line of JSON per request and per response; see tests/conformance/README.md. */
public final class Driver {
  private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);
  private static final ExecutorService WORKERS = Executors.newCachedThreadPool();
  private static final Map<String, ThreadkeepClient> CLIENTS = new ConcurrentHashMap<>();
  /** Watches by id; a watch may be canceled before it is opened. */
  private static final Map<JsonElement, CompletableFuture<Changes>> WATCHES = new ConcurrentHashMap<>();

  /** Serves requests until the input ends. */
  public static void main(String[] args) {
    var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    input.lines().map(line -> JsonParser.parseString(line).getAsJsonObject()).forEach(p -> WORKERS.execute(() -> serve(p)));
    System.exit(0);
  }

  private static void serve(JsonObject p) {
    try {
      say(p, "ok", answer(p, CLIENTS.get(text(p, "client"))));
    } catch (RuntimeException | IOException error) {
      say(p, "error", failure(error));
    }
  }

  private static ChannelCredentials credentials(JsonObject pem) throws IOException {
    var made = TlsChannelCredentials.newBuilder().trustManager(new ByteArrayInputStream(text(pem, "ca").getBytes()));
    if (!text(pem, "key").isEmpty())
      made.keyManager(
          new ByteArrayInputStream(text(pem, "certificate").getBytes()), new ByteArrayInputStream(text(pem, "key").getBytes()));
    return made.build();
  }

  private static Map<String, Object> answer(JsonObject p, ThreadkeepClient own) throws IOException {
    var timeout = p.has("timeout_ms") ? Duration.ofMillis(p.get("timeout_ms").getAsLong()) : null;
    var client = own == null || timeout == null ? own : own.withTimeout(timeout);
    var method = p.has("rpc") ? method("threadkeep.v1." + text(p, "rpc")) : null;
    var request = method == null ? null : method.parseRequest(new ByteArrayInputStream(bytes(p, "request")));
    var ref = SessionRef.parseFrom(bytes(p, "session")); // the SDK completes an id
    var session = client == null || !(ref.getApp() + ref.getUserId()).isEmpty() ? ref : client.ref(ref.getSessionId());
    var how = p.has("strategy") ? CompactionStrategy.parseFrom(bytes(p, "strategy")) : null;
    var ok = new HashMap<String, Object>();
    switch (text(p, "op")) {
      case "hello" -> ok.putAll(Map.of("language", "java", "version", ThreadkeepClient.VERSION));
      case "connect" -> {
        var builder = ThreadkeepClient.builder().address(text(p, "address")).token(text(p, "token")).app(text(p, "app"));
        if (p.has("tls")) builder.tls(credentials(p.getAsJsonObject("tls")));
        CLIENTS.put(text(p, "client"), builder.userId(text(p, "user_id")).timeout(timeout).build());
      }
      case "close" -> client.close();
      case "call" -> ok.put("response", packed(client.call(method, request)));
      case "append" -> ok.put("response", packed(append(p, client, session)));
      case "pages" -> ok.put("items", pages(p, client, request).map(Driver::packed).toList());
      case "context" -> ok.put("response", packed(client.context(session, ContextSpec.parseFrom(bytes(p, "spec")))));
      case "compact" -> ok.put("response", packed(client.compact(session, how)));
      case "compact_with" -> ok.put("response", client.compactWith(session, requested -> text(p, "summary"), how).map(Driver::packed).orElse(""));
      case "compact_context" -> ok.put("response", packed(compactContext(p, client, session)));
      case "build" -> ok.put("event", packed(build(text(p, "builder"), p.getAsJsonObject("args"))));
      case "watch" -> follow(p, client, request);
      case "cancel" -> WATCHES.computeIfAbsent(p.get("target"), id -> new CompletableFuture<>()).thenAccept(Changes::close);
      default -> throw new IllegalArgumentException("unknown op " + p.get("op"));
    }
    return ok;
  }

  @SuppressWarnings("unchecked") // each method parses its own parameters
  private static MethodDescriptor<Object, Object> method(String name) {
    var methods = Stream.of(SessionServiceGrpc.getServiceDescriptor(), EventServiceGrpc.getServiceDescriptor(),
        CompactionServiceGrpc.getServiceDescriptor(), SubscriptionServiceGrpc.getServiceDescriptor(),
        ConsumerServiceGrpc.getServiceDescriptor(), ServerServiceGrpc.getServiceDescriptor(),
        SearchServiceGrpc.getServiceDescriptor(), MemoryServiceGrpc.getServiceDescriptor(),
        ToolServiceGrpc.getServiceDescriptor()).flatMap(service -> service.getMethods().stream());
    return (MethodDescriptor<Object, Object>) methods.filter(one -> one.getFullMethodName().equals(name)).findAny().get();
  }

  private static AppendEventsResponse append(JsonObject p, ThreadkeepClient client, SessionRef session) throws IOException {
    var events = new ArrayList<SessionEvent>();
    for (var event : p.getAsJsonArray("events")) {
      events.add(SessionEvent.parseFrom(Base64.getDecoder().decode(event.getAsString())));
    }
    var options = p.get("create").getAsBoolean() ? AppendOptions.NONE.create() : AppendOptions.NONE;
    options = p.get("ignore_existing").getAsBoolean() ? options.ignoreExisting() : options;
    options = p.has("expected_log_version") ? options.expectedLogVersion(p.get("expected_log_version").getAsLong()) : options;
    options = p.has("expected_last_event_id") ? options.expectedLastEventId(text(p, "expected_last_event_id")) : options;
    return client.append(session, events, options);
  }

  private static ApplyCompactionResponse compactContext(JsonObject p, ThreadkeepClient client, SessionRef session) throws IOException {
    var seen = GetContextResponse.parseFrom(bytes(p, "context"));
    if (session.equals(client.ref(session.getSessionId()))) {
      return client.compactContext(session.getSessionId(), seen, text(p, "summary"));
    }
    var insert = CompactionInsert.newBuilder().addEvents(Events.assistant(text(p, "summary")));
    return client.compactContext(ApplyCompactionRequest.newBuilder().setSession(session).addInserts(insert).build(), seen);
  }

  private static All[] all(JsonObject p) {
    return p.has("all_users") ? new All[] {All.USERS} : new All[0];
  }

  private static Stream<?> pages(JsonObject p, ThreadkeepClient client, Object request) {
    Pages<?> pages = request instanceof ListSessionsRequest sessions ? client.sessions(sessions, all(p))
        : request instanceof ListEventsRequest events ? client.events(events)
        : request instanceof SearchEventsRequest search ? client.search(search, all(p))
        : request instanceof ListMemoriesRequest memories ? new UserMemory(client, memories.getScope()).list(memories)
        : client.compactions((ListCompactionsRequest) request);
    return pages.stream().limit(p.has("limit") ? p.get("limit").getAsLong() : Long.MAX_VALUE);
  }

  private static void follow(JsonObject p, ThreadkeepClient client, Object request) {
    var options = p.get("checkpoints").getAsBoolean() ? WatchOptions.DEFAULT.withCheckpoints() : WatchOptions.DEFAULT;
    options = p.has("max_retries") ? options.withMaxRetries(p.get("max_retries").getAsInt()) : options;
    var changes = request instanceof WatchSessionRequest session
        ? client.watch(session, options) : client.watch((WatchAllRequest) request, options, all(p));
    WATCHES.computeIfAbsent(p.get("id"), id -> new CompletableFuture<>()).complete(changes);
    changes.forEachRemaining(change -> say(p, "item", packed(change)));
  }

  private static SessionEvent build(String builder, JsonObject args) {
    var text = text(args, "text");
    boolean failed = text(args, "is_error").equals("true");
    var event = switch (builder) {
      case "user" -> Events.user(text);
      case "assistant" -> Events.assistant(text);
      case "system" -> Events.system(text);
      case "assistant_calls" -> {
        var said = Stream.of(text).filter(given -> args.has("text")).map(Events::text);
        var calls = args.getAsJsonArray("calls").asList().stream().map(JsonElement::getAsJsonObject)
            .map(call -> Events.toolCall(text(call, "id"), text(call, "name"), text(call, "arguments_json")));
        yield Events.assistant(Stream.concat(said, calls).toArray(Part[]::new));
      }
      default -> args.has("json")
          ? Events.toolResultJson(text(args, "call_id"), text(args, "name"), text(args, "json"), failed)
          : Events.toolResult(text(args, "call_id"), text(args, "name"), text, failed);
    };
    return event.toBuilder().setAuthor(text(args, "author")).build();
  }

  private static Map<String, Object> failure(Exception error) {
    var typed = ThreadkeepException.from(error); // a usage error has only empty fields
    var fields = typed.fields().stream().map(violation -> violation.getField()).toList();
    var reported = new HashMap<String, Object>(Map.of("code", typed == error ? typed.code() : "USAGE", "reason", typed.reasonName(),
        "message", String.valueOf(error.getMessage()), "metadata", typed.metadata(), "fields", fields));
    typed.retryAfter().ifPresent(delay -> reported.put("retry_after_ms", delay.toMillis()));
    return reported;
  }

  private static String text(JsonObject p, String name) {
    return p.has(name) ? p.get(name).getAsString() : "";
  }

  private static byte[] bytes(JsonObject p, String name) {
    return Base64.getDecoder().decode(text(p, name));
  }

  private static String packed(Object message) {
    return Base64.getEncoder().encodeToString(((MessageLite) message).toByteArray());
  }

  private static void say(JsonObject p, String what, Object value) {
    OUT.println(new Gson().toJson(Map.of("id", p.get("id"), what, value)));
  }
}

package dev.threadkeep.conformance;

import com.google.gson.*;
import com.google.protobuf.Message;
import com.google.protobuf.MessageLite;
import dev.threadkeep.*;
import dev.threadkeep.conformance.Flavors.*;
import dev.threadkeep.filter.*;
import dev.threadkeep.options.*;
import dev.threadkeep.v1.*;
import io.grpc.ChannelCredentials;
import io.grpc.MethodDescriptor;
import io.grpc.TlsChannelCredentials;
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.stream.Stream;

/** The conformance driver: one line of JSON per request and per response; see tests/conformance/README.md. */
public final class Driver {
  private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);
  private static final ExecutorService WORKERS = Executors.newCachedThreadPool();
  private static final Map<String, AnyClient> CLIENTS = new ConcurrentHashMap<>();
  /** What ends watches and consumers, by id; they may be canceled before they are opened. */
  private static final Map<JsonElement, CompletableFuture<Runnable>> ENDS = new ConcurrentHashMap<>();

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

  private static Map<String, Object> answer(JsonObject p, AnyClient own) throws IOException {
    var timeout = p.has("timeout_ms") ? Duration.ofMillis(p.get("timeout_ms").getAsLong()) : null;
    var client = own == null || timeout == null ? own : own.withTimeout(timeout);
    var method = p.has("rpc") ? method("threadkeep.v1." + text(p, "rpc")) : null;
    var request = method == null ? null : method.parseRequest(new ByteArrayInputStream(bytes(p, "request")));
    var ref = SessionRef.parseFrom(bytes(p, "session")); // the SDK completes an id
    var session = client == null ? null : (ref.getApp() + ref.getUserId()).isEmpty() ? client.session(ref.getSessionId()) : client.session(ref);
    var strategy = CompactionStrategy.parseFrom(bytes(p, "strategy"));
    Consumer<CompactOptions> how = o -> Optional.of(strategy).filter(given -> p.has("strategy")).ifPresent(o::strategy);
    var ok = new HashMap<String, Object>();
    switch (text(p, "op")) {
      case "hello" -> ok.putAll(Map.of("language", "java", "version", ThreadkeepClient.VERSION));
      case "connect" -> {
        var builder = ThreadkeepClient.builder().address(text(p, "address")).token(text(p, "token")).app(text(p, "app"));
        if (p.has("tls")) builder.tls(credentials(p.getAsJsonObject("tls")));
        CLIENTS.put(text(p, "client"), Flavors.of(builder.userId(text(p, "user_id")).timeout(timeout).build()));
      }
      case "close" -> client.close();
      case "call" -> ok.put("response", packed(client.call(method, request)));
      case "method" -> ok.put("response", packed(Methods.call(client, (Message) request)));
      case "append" -> ok.put("response", packed(append(p, session)));
      case "pages" -> ok.put("items", pages(p, client, request).map(Driver::packed).toList());
      case "context" -> ok.put("response", packed(session.getContext(MemoryProvider.custom(ContextSpec.parseFrom(bytes(p, "spec"))))));
      case "compact" -> ok.put("response", packed(session.compact(how)));
      case "compact_with" -> ok.put("response", session.compactWith(requested -> Flavors.summary(text(p, "summary")), how).map(Driver::packed).orElse(""));
      case "compact_context" -> ok.put("response", packed(session.compactContext(GetContextResponse.parseFrom(bytes(p, "context")), text(p, "summary"))));
      case "build" -> ok.put("event", packed(build(text(p, "builder"), p.getAsJsonObject("args"))));
      case "watch" -> follow(p, client, request);
      case "consume" -> consume(p, client);
      case "append_stream" -> ok.put("results", streamed(p, session));
      case "provided" -> ok.putAll(provided(p, session));
      case "cancel" -> endOf(p.get("target")).thenAccept(Runnable::run);
      default -> throw new IllegalArgumentException("unknown op " + p.get("op"));
    }
    return ok;
  }

  @SuppressWarnings("unchecked") // each method parses its own parameters
  private static MethodDescriptor<Object, Object> method(String name) {
    var methods = Stream.of(SessionServiceGrpc.getServiceDescriptor(), EventServiceGrpc.getServiceDescriptor(),
        StateServiceGrpc.getServiceDescriptor(), CompactionServiceGrpc.getServiceDescriptor(), SubscriptionServiceGrpc.getServiceDescriptor(),
        ConsumerServiceGrpc.getServiceDescriptor(), ServerServiceGrpc.getServiceDescriptor(),
        SearchServiceGrpc.getServiceDescriptor(), MemoryServiceGrpc.getServiceDescriptor(),
        ToolServiceGrpc.getServiceDescriptor()).flatMap(service -> service.getMethods().stream());
    return (MethodDescriptor<Object, Object>) methods.filter(one -> one.getFullMethodName().equals(name)).findAny().get();
  }

  private static AppendEventsResponse append(JsonObject p, AnySession session) throws IOException {
    var delta = StateDelta.parseFrom(bytes(p, "state_delta"));
    var events = events(p.getAsJsonArray("events"));
    if (p.has("expected_log_version") && p.has("expected_last_event_id")) // which the SDK's type cannot say
      throw new IllegalArgumentException("give at most one precondition");
    return session.append(events, o -> {
      if (p.get("create").getAsBoolean()) o.createIfMissing();
      if (p.get("ignore_existing").getAsBoolean()) o.ifExists(IfExists.IF_EXISTS_IGNORE);
      if (p.has("replace_existing") && p.get("replace_existing").getAsBoolean()) o.ifExists(IfExists.IF_EXISTS_REPLACE);
      if (p.has("operation_id")) o.operationId(text(p, "operation_id"));
      if (delta.hasSession()) o.state(patch -> patch.mergeFrom(delta.getSession()));
      if (delta.hasUser()) o.userState(patch -> patch.mergeFrom(delta.getUser()));
      if (delta.hasApp()) o.appState(patch -> patch.mergeFrom(delta.getApp()));
      if (p.has("expected_log_version")) o.expect(Expect.logVersion(p.get("expected_log_version").getAsLong()));
      if (p.has("expected_last_event_id")) o.expect(Expect.lastEventId(text(p, "expected_last_event_id")));
    }).response();
  }

  private static Stream<?> pages(JsonObject p, AnyClient client, Object request) {
    Stream<?> pages;
    if (request instanceof ListSessionsRequest sessions) pages = client.sessions(o -> all(p, o.with(own -> own.mergeFrom(sessions))));
    else if (request instanceof ListEventsRequest list) pages = client.session(list.getSession()).events(o -> o.with(own -> own.mergeFrom(list)));
    else if (request instanceof SearchEventsRequest search)
      pages = client.search(search.getQuery(), o -> all(p, o.with(own -> own.mergeFrom(search))));
    else if (request instanceof ListUsersRequest users) {
      pages = client.users(o -> {
        if (users.hasApp()) o.app(users.getApp());
        o.pageSize(users.getPageSize());
      });
    } else if (request instanceof ListAuditRecordsRequest audit) pages = client.auditRecords(own -> own.mergeFrom(audit));
    else if (request instanceof ListUserEventsRequest events) pages = client.userEvents(o -> o.with(own -> own.mergeFrom(events)));
    else if (request instanceof ListMemoryNamespacesRequest list) pages = client.memory(list.getScope()).namespaces(own -> own.mergeFrom(list));
    else if (request instanceof ListBranchesRequest list) pages = client.session(list.getSession()).branches();
    else if (request instanceof ListUsageRequest list) pages = client.session(list.getSession()).usage(own -> own.mergeFrom(list));
    else if (request instanceof ListMemoriesRequest memories) pages = client.memory(memories.getScope()).list(memories);
    else {
      var compactions = (ListCompactionsRequest) request;
      pages = client.session(compactions.getSession()).compactions(compactions.getPageSize());
    }
    return pages.limit(p.has("limit") ? p.get("limit").getAsLong() : Long.MAX_VALUE);
  }

  private static void all(JsonObject p, Scoped<?> options) {
    if (p.has("all_users")) options.allUsers();
  }

  private static void follow(JsonObject p, AnyClient client, Object request) {
    Follower changes;
    if (request instanceof WatchSessionRequest one) {
      Start start = one.hasAfterSeq() ? Start.afterSeq(one.getAfterSeq()) : one.hasResumeToken() ? Start.token(one.getResumeToken()) : Start.now();
      changes = client.session(one.getSession()).watch(o -> options(p, o.from(start), one.hasFilter(), one.getFilter()));
    } else {
      var many = (WatchAllRequest) request;
      Start start = many.hasFromBeginning() ? Start.beginning() : many.hasResumeToken() ? Start.token(many.getResumeToken()) : Start.now();
      changes = client.watchAll(o -> {
        options(p, o.from(start).userId(many.getScope().getUserId()), many.hasFilter(), many.getFilter());
        if (many.getScope().hasApp()) o.app(many.getScope().getApp());
        many.getScope().getLabelsMap().forEach(o::label);
        all(p, o);
      });
    }
    endOf(p.get("id")).complete(changes::close);
    changes.forEach(change -> say(p, "item", packed(change)));
  }

  private static List<SessionEvent> events(JsonArray packed) throws IOException {
    var events = new ArrayList<SessionEvent>();
    for (var event : packed) {
      events.add(SessionEvent.parseFrom(Base64.getDecoder().decode(event.getAsString())));
    }
    return events;
  }

  private static List<Map<String, Object>> streamed(JsonObject p, AnySession session) throws IOException {
    var sent = new ArrayList<CompletableFuture<Appended>>();
    try (var stream = session.appendStream(64)) {
      for (var batch : p.getAsJsonArray("batches")) sent.add(stream.send(events(batch.getAsJsonArray())));
    }
    return sent.stream().map(each -> each.<Map<String, Object>>handle((appended, error) -> error == null
        ? Map.of("response", packed(appended.response())) : Map.of("error", failure((Exception) error))).join()).toList();
  }

  /** Appends and reads as a memory provider says. */
  private static Map<String, Object> provided(JsonObject p, AnySession session) throws IOException {
    var own = session.withMemory(switch (text(p, "provider")) {
      case "none" -> MemoryProvider.none();
      case "read_only" -> MemoryProvider.readOnly();
      case "write_only" -> MemoryProvider.writeOnly();
      default -> MemoryProvider.limitedWindow();
    });
    long version = own.append(events(p.getAsJsonArray("events")), o -> {}).response().getLogVersion();
    return Map.of("response", packed(own.getContext()), "log_version", String.valueOf(version));
  }

  private static CompletableFuture<Runnable> endOf(JsonElement id) {
    return ENDS.computeIfAbsent(id, key -> new CompletableFuture<>());
  }

  /** Works until it is canceled. The handler parks and fails what the request says, and reports the others. */
  private static void consume(JsonObject p, AnyClient client) {
    var failed = new AtomicBoolean();
    ConsumerHandle.Handler handler = delivery -> {
      for (var event : delivery.change().getBatch().getEventsList().stream().limit(1).toList()) {
        var said = new JsonPrimitive(Events.textOf(event));
        if (said.equals(p.get("park"))) throw new ConsumerHandle.Park("as requested");
        if (said.equals(p.get("fail")) && failed.compareAndSet(false, true)) throw new IllegalStateException("as requested");
      }
      say(p, "item", packed(delivery.change()));
    };
    try (var run = client.consumer(text(p, "name")).run(handler, o -> {
      if (p.get("from_beginning").getAsBoolean()) o.fromBeginning();
      if (p.has("max_attempts")) o.maxAttempts(p.get("max_attempts").getAsInt());
    })) {
      endOf(p.get("id")).complete(run::stop);
      run.join();
    }
  }

  private static void options(JsonObject p, WatchOptions options, boolean filtered, EventFilter filter) {
    if (filtered) options.filter(EventFilters.of(filter));
    if (p.get("checkpoints").getAsBoolean()) options.checkpoints();
    if (p.has("max_retries")) options.maxRetries(p.get("max_retries").getAsInt());
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
          ? toolJson(failed, text(args, "call_id"), text(args, "name"), text(args, "json"))
          : failed ? Events.toolError(text(args, "call_id"), text(args, "name"), text)
          : Events.toolResult(text(args, "call_id"), text(args, "name"), text);
    };
    return event.toBuilder().setAuthor(text(args, "author")).build();
  }

  private static SessionEvent toolJson(boolean failed, String id, String name, String json) {
    return failed ? Events.toolErrorJson(id, name, json) : Events.toolResultJson(id, name, json);
  }

  private static Map<String, Object> failure(Exception error) {
    var typed = ThreadkeepException.from(error); // a usage error has only empty fields
    var fields = typed.violations().stream().map(violation -> violation.getField()).toList();
    var reported = new HashMap<String, Object>(Map.of("code", typed == error ? typed.code() : "USAGE", "reason", typed.reasonName(),
        "message", typed == error ? typed.description() : String.valueOf(error.getMessage()), "metadata", typed.metadata(), "fields", fields));
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

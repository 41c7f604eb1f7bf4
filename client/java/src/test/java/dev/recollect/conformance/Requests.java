package dev.recollect.conformance;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import com.google.protobuf.MessageLite;
import dev.recollect.AppendOptions;
import dev.recollect.Changes;
import dev.recollect.Events;
import dev.recollect.Recollect;
import dev.recollect.RecollectException;
import dev.recollect.WatchOptions;
import dev.recollect.v1.AppendEventsResponse;
import dev.recollect.v1.CompactionServiceGrpc;
import dev.recollect.v1.ConsumerServiceGrpc;
import dev.recollect.v1.EventServiceGrpc;
import dev.recollect.v1.Part;
import dev.recollect.v1.RecallServiceGrpc;
import dev.recollect.v1.ServerServiceGrpc;
import dev.recollect.v1.SessionEvent;
import dev.recollect.v1.SessionRef;
import dev.recollect.v1.SessionServiceGrpc;
import dev.recollect.v1.WatchAllRequest;
import dev.recollect.v1.WatchSessionRequest;
import io.grpc.MethodDescriptor;
import io.grpc.ServiceDescriptor;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What the driver's requests say, in the SDK's words. */
final class Requests {
  private static final Map<String, MethodDescriptor<?, ?>> METHODS =
      Stream.of(
              SessionServiceGrpc.getServiceDescriptor(),
              EventServiceGrpc.getServiceDescriptor(),
              CompactionServiceGrpc.getServiceDescriptor(),
              RecallServiceGrpc.getServiceDescriptor(),
              ServerServiceGrpc.getServiceDescriptor(),
              ConsumerServiceGrpc.getServiceDescriptor())
          .map(ServiceDescriptor::getMethods)
          .flatMap(methods -> methods.stream())
          .collect(Collectors.toMap(method -> method.getFullMethodName().replace("recollect.v1.", ""), Function.identity()));

  private Requests() {}

  static String call(Recollect client, JsonObject p) {
    return call(client, METHODS.get(p.get("rpc").getAsString()), Base64.getDecoder().decode(p.get("request").getAsString()));
  }

  private static <Q, R> String call(Recollect client, MethodDescriptor<Q, R> method, byte[] request) {
    R response = client.call(method, method.parseRequest(new ByteArrayInputStream(request)));
    return Driver.packed((MessageLite) response);
  }

  static AppendEventsResponse append(Recollect client, SessionRef session, JsonObject p) throws IOException {
    var events = new ArrayList<SessionEvent>();
    for (JsonElement event : p.getAsJsonArray("events")) {
      events.add(SessionEvent.parseFrom(Base64.getDecoder().decode(event.getAsString())));
    }
    var options = AppendOptions.builder();
    if (p.has("create") && p.get("create").getAsBoolean()) {
      options.create();
    }
    if (p.has("ignore_existing") && p.get("ignore_existing").getAsBoolean()) {
      options.ignoreExisting();
    }
    if (p.has("expected_log_version")) {
      options.expectedLogVersion(Long.parseLong(p.get("expected_log_version").getAsString()));
    }
    if (p.has("expected_last_event_id")) {
      options.expectedLastEventId(p.get("expected_last_event_id").getAsString());
    }
    return client.append(session, events, options.build());
  }

  static Changes watch(Recollect client, JsonObject p) throws IOException {
    var options = WatchOptions.builder();
    if (p.has("checkpoints") && p.get("checkpoints").getAsBoolean()) {
      options.checkpoints();
    }
    if (p.has("max_retries")) {
      options.maxRetries(p.get("max_retries").getAsInt());
    }
    if (p.get("rpc").getAsString().endsWith("WatchSession")) {
      return watch(client, Driver.read(WatchSessionRequest.parser(), p, "request"), options);
    }
    return watch(client, Driver.read(WatchAllRequest.parser(), p, "request"), options);
  }

  private static Changes watch(Recollect client, WatchSessionRequest request, WatchOptions.Builder options) {
    switch (request.getStartCase()) {
      case RESUME_TOKEN -> options.resumeToken(request.getResumeToken());
      case AFTER_SEQ -> options.afterSeq(request.getAfterSeq());
      default -> {}
    }
    if (request.hasFilter()) {
      options.filter(request.getFilter());
    }
    return client.watch(request.getSession(), options.build());
  }

  private static Changes watch(Recollect client, WatchAllRequest request, WatchOptions.Builder options) {
    switch (request.getStartCase()) {
      case RESUME_TOKEN -> options.resumeToken(request.getResumeToken());
      case FROM_BEGINNING -> options.fromBeginning();
      default -> {}
    }
    if (request.hasFilter()) {
      options.filter(request.getFilter());
    }
    return client.watch(request.getScope(), options.build());
  }

  static SessionEvent build(String builder, JsonObject args) {
    Function<String, String> text = name -> args.has(name) ? args.get(name).getAsString() : "";
    boolean failed = args.has("is_error") && args.get("is_error").getAsBoolean();
    var event =
        switch (builder) {
          case "user" -> Events.user(text.apply("text"));
          case "assistant" -> Events.assistant(text.apply("text"));
          case "system" -> Events.system(text.apply("text"));
          case "assistant_calls" -> assistant(args);
          default ->
              args.has("json")
                  ? Events.toolResultJson(text.apply("call_id"), text.apply("name"), text.apply("json"), failed)
                  : Events.toolResult(text.apply("call_id"), text.apply("name"), text.apply("text"), failed);
        };
    return event.toBuilder().setAuthor(text.apply("author")).build();
  }

  private static SessionEvent assistant(JsonObject args) {
    var parts = new ArrayList<Part>();
    if (args.has("text")) {
      parts.add(Events.text(args.get("text").getAsString()));
    }
    for (JsonElement element : args.getAsJsonArray("calls")) {
      var call = element.getAsJsonObject();
      parts.add(Events.toolCall(call.get("id").getAsString(), call.get("name").getAsString(), call.get("arguments_json").getAsString()));
    }
    return Events.assistant(parts.toArray(Part[]::new));
  }

  static JsonObject failure(Exception error) {
    var told = new JsonObject();
    var metadata = new JsonObject();
    var fields = new JsonArray();
    JsonElement retryAfter = JsonNull.INSTANCE;
    told.addProperty("code", "USAGE");
    told.addProperty("reason", "");
    told.addProperty("message", String.valueOf(error.getMessage()));
    if (error instanceof RecollectException typed) {
      told.addProperty("code", typed.code().name());
      told.addProperty("reason", typed.reasonName());
      typed.metadata().forEach(metadata::addProperty);
      typed.fields().forEach(violation -> fields.add(violation.getField()));
      retryAfter = typed.retryAfter().map(Duration::toMillis).<JsonElement>map(JsonPrimitive::new).orElse(JsonNull.INSTANCE);
    }
    told.add("metadata", metadata);
    told.add("fields", fields);
    told.add("retry_after_ms", retryAfter);
    return told;
  }
}

package dev.threadkeep;

import dev.threadkeep.v1.CompactionServiceGrpc;
import dev.threadkeep.v1.ConsumerServiceGrpc;
import dev.threadkeep.v1.EventServiceGrpc;
import dev.threadkeep.v1.MemoryServiceGrpc;
import dev.threadkeep.v1.SearchServiceGrpc;
import dev.threadkeep.v1.ServerServiceGrpc;
import dev.threadkeep.v1.SessionServiceGrpc;
import dev.threadkeep.v1.ToolServiceGrpc;
import io.grpc.MethodDescriptor.MethodType;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** The methods to retry, by their idempotency_level in the protos, and how. */
final class RetryPolicy {
  static final int ATTEMPTS = 5;

  /** gRPC never retries a call that the caller canceled. */
  static final List<String> CODES = List.of("UNAVAILABLE", "CANCELLED");

  private RetryPolicy() {}

  /** Returns the policy as a gRPC service config. */
  static Map<String, Object> serviceConfig() {
    Map<String, Object> policy =
        Map.of(
            "maxAttempts", (double) ATTEMPTS,
            "initialBackoff", "0.1s",
            "maxBackoff", "2s",
            "backoffMultiplier", 2.0,
            "retryableStatusCodes", CODES);
    return Map.of("methodConfig", List.of(Map.of("name", retryable(), "retryPolicy", policy)));
  }

  /**
   * Returns the methods to retry. Streams are excluded because they are resumed, and so is the service that has only streams.
   */
  static List<Map<String, String>> retryable() {
    return Stream.of(
            SessionServiceGrpc.getServiceDescriptor(),
            EventServiceGrpc.getServiceDescriptor(),
            CompactionServiceGrpc.getServiceDescriptor(),
            SearchServiceGrpc.getServiceDescriptor(),
            MemoryServiceGrpc.getServiceDescriptor(),
            ToolServiceGrpc.getServiceDescriptor(),
            ServerServiceGrpc.getServiceDescriptor(),
            ConsumerServiceGrpc.getServiceDescriptor())
        .flatMap(service -> service.getMethods().stream())
        .filter(method -> method.getType() == MethodType.UNARY && (method.isSafe() || method.isIdempotent()))
        .map(method -> Map.of("service", method.getServiceName(), "method", method.getBareMethodName()))
        .toList();
  }
}

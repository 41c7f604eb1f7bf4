package dev.threadkeep.internal;

import dev.threadkeep.v1.CompactionServiceGrpc;
import dev.threadkeep.v1.ConsumerServiceGrpc;
import dev.threadkeep.v1.EventServiceGrpc;
import dev.threadkeep.v1.MemoryServiceGrpc;
import dev.threadkeep.v1.SearchServiceGrpc;
import dev.threadkeep.v1.ServerServiceGrpc;
import dev.threadkeep.v1.SessionServiceGrpc;
import dev.threadkeep.v1.StateServiceGrpc;
import dev.threadkeep.v1.SubscriptionServiceGrpc;
import dev.threadkeep.v1.ToolServiceGrpc;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.ServiceDescriptor;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * The methods to retry, by their idempotency_level in the protos, and how.
 *
 * @param attempts maximum number of attempts
 * @param first first pause
 * @param longest longest pause
 */
public record RetryPolicy(int attempts, Duration first, Duration longest) {
  /** gRPC never retries a call that the caller canceled. */
  public static final List<String> CODES = List.of("UNAVAILABLE", "CANCELLED");

  /** Returns the policy as a gRPC service config. */
  public Map<String, Object> serviceConfig() {
    Map<String, Object> policy =
        Map.of(
            "maxAttempts", (double) attempts,
            "initialBackoff", seconds(first),
            "maxBackoff", seconds(longest),
            "backoffMultiplier", 2.0,
            "retryableStatusCodes", CODES);
    if (attempts == 1) {
      return Map.of();
    }
    return Map.of("methodConfig", List.of(Map.of("name", retryable(), "retryPolicy", policy)));
  }

  /** Returns all services of threadkeep.v1. */
  public static List<ServiceDescriptor> services() {
    return List.of(
        SessionServiceGrpc.getServiceDescriptor(),
        EventServiceGrpc.getServiceDescriptor(),
        StateServiceGrpc.getServiceDescriptor(),
        CompactionServiceGrpc.getServiceDescriptor(),
        SearchServiceGrpc.getServiceDescriptor(),
        MemoryServiceGrpc.getServiceDescriptor(),
        ToolServiceGrpc.getServiceDescriptor(),
        ServerServiceGrpc.getServiceDescriptor(),
        SubscriptionServiceGrpc.getServiceDescriptor(),
        ConsumerServiceGrpc.getServiceDescriptor());
  }

  /** Returns the methods to retry. Streams are excluded because they are resumed. */
  public static List<Map<String, String>> retryable() {
    return services().stream()
        .flatMap(service -> service.getMethods().stream())
        .filter(method -> method.getType() == MethodType.UNARY && (method.isSafe() || method.isIdempotent()))
        .map(method -> Map.of("service", method.getServiceName(), "method", method.getBareMethodName()))
        .toList();
  }

  /** gRPC rejects a pause of zero. */
  private static String seconds(Duration pause) {
    return Math.max(pause.toNanos(), 1_000_000) / 1e9 + "s";
  }
}

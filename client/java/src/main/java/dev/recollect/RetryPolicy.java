package dev.recollect;

import com.google.protobuf.DescriptorProtos.MethodOptions.IdempotencyLevel;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.Descriptors.MethodDescriptor;
import dev.recollect.v1.CompactionServiceOuterClass;
import dev.recollect.v1.ConsumerServiceOuterClass;
import dev.recollect.v1.EventServiceOuterClass;
import dev.recollect.v1.RecallServiceOuterClass;
import dev.recollect.v1.ServerServiceOuterClass;
import dev.recollect.v1.SessionServiceOuterClass;
import dev.recollect.v1.SubscriptionServiceOuterClass;
import java.util.List;
import java.util.Map;

/** Which methods are sent again, and how: the protos say which, by their idempotency_level. */
final class RetryPolicy {
  private static final List<FileDescriptor> FILES =
      List.of(
          SessionServiceOuterClass.getDescriptor(),
          EventServiceOuterClass.getDescriptor(),
          CompactionServiceOuterClass.getDescriptor(),
          RecallServiceOuterClass.getDescriptor(),
          ServerServiceOuterClass.getDescriptor(),
          SubscriptionServiceOuterClass.getDescriptor(),
          ConsumerServiceOuterClass.getDescriptor());

  private RetryPolicy() {}

  /** The policy as a gRPC service config. */
  static Map<String, Object> serviceConfig() {
    Map<String, Object> policy =
        Map.of(
            "maxAttempts", 5.0,
            "initialBackoff", "0.1s",
            "maxBackoff", "2s",
            "backoffMultiplier", 2.0,
            "retryableStatusCodes", List.of("UNAVAILABLE"));
    return Map.of("methodConfig", List.of(Map.of("name", retryable(), "retryPolicy", policy)));
  }

  /** The methods that may be sent again. Not streams: those are resumed, not repeated. */
  static List<Map<String, String>> retryable() {
    return FILES.stream()
        .flatMap(file -> file.getServices().stream())
        .flatMap(service -> service.getMethods().stream())
        .filter(RetryPolicy::isRetryable)
        .map(method -> Map.of("service", method.getService().getFullName(), "method", method.getName()))
        .toList();
  }

  private static boolean isRetryable(MethodDescriptor method) {
    boolean streams = method.isServerStreaming() || method.isClientStreaming();
    return !streams && method.getOptions().getIdempotencyLevel() != IdempotencyLevel.IDEMPOTENCY_UNKNOWN;
  }
}

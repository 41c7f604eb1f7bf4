package dev.threadkeep;

import com.google.protobuf.Message;
import io.grpc.CallOptions;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** One connection to one server: opening, calling, closing. */
final class Connection implements AutoCloseable {
  static final int MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

  private static final Duration CLOSES_WITHIN = Duration.ofSeconds(5);

  /** gRPC's messages for a connection that broke during a call; a server error carries an ErrorInfo. */
  private static final String[] BROKEN = {"RST_STREAM", "Rst Stream", "end-of-stream", "http2 exception", "channel closed"};

  /** gRPC's messages for a peer that does not use HTTP/2. */
  private static final String NOT_HTTP2 = "First received frame was not SETTINGS";

  private static final String ELSEWHERE =
      "%s does not respond in gRPC (%s): use the server's gRPC port, by default 7443, and https:// if it uses TLS";
  private static final String CANCELED = "%s canceled the call (%s)";
  private static final String ABSENT = "no server at %s (%s); start one with `threadkeep serve`, in a checkout `make serve`";

  private final String address;
  private final ManagedChannel channel;
  private final Set<Changes> watches = ConcurrentHashMap.newKeySet();
  private volatile boolean closed;

  Connection(String address, String token, ManagedChannelBuilder<?> builder) {
    this.address = address;
    if (!token.isEmpty()) {
      var headers = new Metadata();
      headers.put(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), "Bearer " + token);
      builder.intercept(MetadataUtils.newAttachHeadersInterceptor(headers));
    }
    this.channel =
        builder
            .userAgent("threadkeep-java/" + ThreadkeepClient.VERSION)
            .enableRetry()
            .defaultServiceConfig(RetryPolicy.serviceConfig())
            .disableServiceConfigLookUp()
            // By default gRPC silently excludes appends of more than 1 MiB from retries.
            .perRpcBufferLimit(MAX_MESSAGE_BYTES)
            .retryBufferSize(MAX_MESSAGE_BYTES)
            .keepAliveTime(30, TimeUnit.SECONDS)
            .keepAliveTimeout(10, TimeUnit.SECONDS)
            .maxInboundMessageSize(MAX_MESSAGE_BYTES)
            .build();
    Reconnect.often(channel);
  }

  String address() {
    return address;
  }

  /** Returns the channel with the credential. Throws IllegalStateException once the client is closed. */
  ManagedChannel channel() {
    if (closed) {
      throw new IllegalStateException("the client is closed");
    }
    return channel;
  }

  /** gRPC retries the codes of the policy itself; a connection that breaks during a call can also return another code. */
  <Q, R> R call(MethodDescriptor<Q, R> method, Q request, Duration timeout) {
    var options = options(timeout);
    for (int attempt = 1; ; attempt++) {
      try {
        return ClientCalls.blockingUnaryCall(channel(), method, options, request);
      } catch (StatusRuntimeException error) {
        var failure = failure(error.getStatus(), error.getTrailers());
        boolean broke = failure.code() == Status.Code.UNAVAILABLE && !RetryPolicy.CODES.contains(error.getStatus().getCode().name());
        if (!broke || attempt == RetryPolicy.ATTEMPTS || !(method.isSafe() || method.isIdempotent())) {
          throw failure;
        }
      }
    }
  }

  <Q, R> CompletableFuture<R> callAsync(MethodDescriptor<Q, R> method, Q request, Duration timeout) {
    var answer = ClientCalls.futureUnaryCall(channel().newCall(method, options(timeout)), request);
    var future = new CompletableFuture<R>();
    future.whenComplete((response, error) -> answer.cancel(true)); // no effect unless the future was canceled
    answer.addListener(
        () -> {
          try {
            future.complete(answer.get());
          } catch (ExecutionException error) {
            future.completeExceptionally(failure(Status.fromThrowable(error), Status.trailersFromThrowable(error)));
          } catch (InterruptedException | RuntimeException canceled) {
            future.cancel(false);
          }
        },
        Runnable::run);
    return future;
  }

  private static CallOptions options(Duration timeout) {
    return timeout.isZero() ? CallOptions.DEFAULT : CallOptions.DEFAULT.withDeadlineAfter(timeout);
  }

  /** Returns the request with a resume token or a page token in the field of this name, if there is one. */
  @SuppressWarnings("unchecked") // build() returns the type of the message
  static <Q extends Message> Q from(Q request, String field, String token) {
    var name = request.getDescriptorForType().findFieldByName(field);
    return token.isEmpty() ? request : (Q) request.toBuilder().setField(name, token).build();
  }

  /** Returns the typed error of a failed call. */
  ThreadkeepException failure(Status status, Metadata trailers) {
    var error = ThreadkeepException.of(status, trailers);
    boolean unavailable = error.code() == Status.Code.UNAVAILABLE;
    if (closed && (unavailable || error.code() == Status.Code.CANCELLED)) {
      return ThreadkeepException.of(Status.Code.CANCELLED, "the call was canceled: the client is closed");
    }
    if (error.code() == Status.Code.CANCELLED && !canceledHere() && !error.isOfServer()) {
      // An overloaded server or a proxy ended it.
      return ThreadkeepException.of(Status.UNAVAILABLE.withDescription(CANCELED.formatted(address, error.getMessage())), trailers);
    }
    boolean unclear = error.code() == Status.Code.INTERNAL || error.code() == Status.Code.UNKNOWN;
    boolean absent = unavailable || unclear && Stream.of(BROKEN).anyMatch(error.getMessage()::contains);
    if (!absent || error.isOfServer()) {
      return error;
    }
    Throwable root = error;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    String why = (root.getMessage() == null ? root.toString() : root.getMessage()).lines().findFirst().orElse("");
    String message = (why.contains(NOT_HTTP2) ? ELSEWHERE : ABSENT).formatted(address, why);
    return ThreadkeepException.of(Status.UNAVAILABLE.withDescription(message).withCause(status.getCause()), trailers);
  }

  /** Returns whether the caller may have canceled the call: a blocking call ends when its thread is interrupted. */
  private static boolean canceledHere() {
    return Thread.currentThread().isInterrupted() || Context.current().isCancelled();
  }

  /** Ends the stream when the connection is closed. */
  void add(Changes watch) {
    watches.add(watch);
  }

  void remove(Changes watch) {
    watches.remove(watch);
  }

  @Override
  public void close() {
    closed = true;
    watches.forEach(watch -> watch.end(failure(Status.CANCELLED, null)));
    channel.shutdownNow();
    try {
      channel.awaitTermination(CLOSES_WITHIN.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}

package dev.recollect;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientInterceptor;
import io.grpc.ClientInterceptors;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** One connection to one server: opening, calling, closing. */
final class Connection implements AutoCloseable {
  static final int MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

  private static final Duration CLOSES_WITHIN = Duration.ofSeconds(5);
  private static final Duration NO_LIMIT = Duration.ofDays(36_500);

  /** gRPC's own words for a connection that broke under a call; a fault of the server carries an ErrorInfo. */
  private static final String[] BROKEN = {"RST_STREAM", "Rst Stream", "end-of-stream", "http2 exception", "channel closed"};

  private final String address;
  private final ManagedChannel managed;
  private final Channel channel;
  private final ScheduledThreadPoolExecutor timer;
  private final Set<Feed<?, ?>> feeds = ConcurrentHashMap.newKeySet();
  private volatile boolean closed;

  Connection(String address, String token, ManagedChannelBuilder<?> builder) {
    this.address = address;
    this.timer = newTimer();
    this.managed = builder.build();
    this.channel = token.isEmpty() ? managed : ClientInterceptors.intercept(managed, bearer(token));
    new Reconnect(managed, timer).start();
  }

  /** Has a channel behave as a client of Recollect wants it. */
  static void configure(ManagedChannelBuilder<?> builder) {
    builder
        .userAgent("recollect-java/" + Recollect.VERSION)
        .enableRetry()
        .defaultServiceConfig(RetryPolicy.serviceConfig())
        .disableServiceConfigLookUp()
        // By default appends of more than 1 MiB are silently exempt from the retry policy.
        .perRpcBufferLimit(MAX_MESSAGE_BYTES)
        .retryBufferSize(MAX_MESSAGE_BYTES)
        .keepAliveTime(30, TimeUnit.SECONDS)
        .keepAliveTimeout(10, TimeUnit.SECONDS)
        .maxInboundMessageSize(MAX_MESSAGE_BYTES);
  }

  /** The channel with the credential. Throws IllegalStateException once the client is closed. */
  Channel channel() {
    if (closed) {
      throw new IllegalStateException("the client is closed");
    }
    return channel;
  }

  <Q, R> R call(MethodDescriptor<Q, R> method, Q request, Duration timeout) {
    Channel open = channel();
    try {
      return ClientCalls.blockingUnaryCall(open, method, options(timeout), request);
    } catch (StatusRuntimeException error) {
      throw failure(error.getStatus(), error.getTrailers());
    }
  }

  <Q, R> CompletableFuture<R> callAsync(MethodDescriptor<Q, R> method, Q request, Duration timeout) {
    var call = channel().newCall(method, options(timeout));
    var future = new CompletableFuture<R>();
    future.whenComplete(
        (response, error) -> {
          if (future.isCancelled()) {
            call.cancel("the future was cancelled", error);
          }
        });
    ClientCalls.asyncUnaryCall(
        call,
        request,
        new StreamObserver<R>() {
          private R response;

          @Override
          public void onNext(R value) {
            response = value;
          }

          @Override
          public void onError(Throwable error) {
            future.completeExceptionally(failure(Status.fromThrowable(error), Status.trailersFromThrowable(error)));
          }

          @Override
          public void onCompleted() {
            future.complete(response);
          }
        });
    return future;
  }

  /** The typed error for how a call ended. */
  RecollectException failure(Status status, Metadata trailers) {
    var error = RecollectException.of(status, trailers == null ? new Metadata() : trailers);
    if (closed && (error.code() == Status.Code.UNAVAILABLE || error.code() == Status.Code.CANCELLED)) {
      return error.reworded(Status.Code.CANCELLED, "the call was cancelled: the client is closed");
    }
    boolean unclear = error.code() == Status.Code.INTERNAL || error.code() == Status.Code.UNKNOWN;
    boolean broken = unclear && Stream.of(BROKEN).anyMatch(error.getMessage()::contains);
    boolean absent = broken || error.code() == Status.Code.UNAVAILABLE;
    return absent && !error.isOfServer() ? error.reworded(Status.Code.UNAVAILABLE, absent(error)) : error;
  }

  private String absent(RecollectException error) {
    String why = error.getMessage().lines().findFirst().orElse("");
    for (Throwable cause = error.getCause(); cause != null; cause = cause.getCause()) {
      if (cause.getCause() == null && cause.getMessage() != null) {
        why = cause.getMessage();
      }
    }
    return "no server at %s (%s); start one with `make serve`".formatted(address, why);
  }

  String address() {
    return address;
  }

  ScheduledFuture<?> after(Duration delay, Runnable task) {
    return timer.schedule(task, delay.toNanos(), TimeUnit.NANOSECONDS);
  }

  void add(Feed<?, ?> feed) {
    feeds.add(feed);
    if (closed) {
      feeds.remove(feed);
      throw new IllegalStateException("the client is closed");
    }
  }

  void remove(Feed<?, ?> feed) {
    feeds.remove(feed);
  }

  @Override
  public void close() {
    closed = true;
    feeds.forEach(feed -> feed.end(RecollectException.of(Status.Code.CANCELLED, "the watch was cancelled: the client is closed")));
    managed.shutdownNow();
    timer.shutdownNow();
    try {
      managed.awaitTermination(CLOSES_WITHIN.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private static CallOptions options(Duration timeout) {
    boolean limited = timeout.compareTo(NO_LIMIT) < 0;
    return limited ? CallOptions.DEFAULT.withDeadlineAfter(timeout) : CallOptions.DEFAULT;
  }

  private static ClientInterceptor bearer(String token) {
    var headers = new Metadata();
    headers.put(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), "Bearer " + token);
    return MetadataUtils.newAttachHeadersInterceptor(headers);
  }

  /** Its one thread lives while something is timed. */
  private static ScheduledThreadPoolExecutor newTimer() {
    var timer =
        new ScheduledThreadPoolExecutor(
            1,
            task -> {
              var thread = new Thread(task, "recollect-timer");
              thread.setDaemon(true);
              return thread;
            },
            new ScheduledThreadPoolExecutor.DiscardPolicy());
    timer.setRemoveOnCancelPolicy(true);
    timer.setKeepAliveTime(10, TimeUnit.SECONDS);
    timer.allowCoreThreadTimeOut(true);
    return timer;
  }
}

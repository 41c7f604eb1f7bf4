package dev.threadkeep.internal;

import dev.threadkeep.ThreadkeepClient;
import dev.threadkeep.ThreadkeepException;
import io.grpc.CallOptions;
import io.grpc.ClientInterceptor;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;

/** One connection to one server: opening, calling, closing. */
public final class Connection implements AutoCloseable {
  /** The log of this SDK. */
  public static final System.Logger LOG = System.getLogger("dev.threadkeep");

  /** Maximum size of a message in either direction. */
  public static final int MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

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
  private final RetryPolicy retry;
  private final Set<Consumer<ThreadkeepException>> streams = ConcurrentHashMap.newKeySet();
  private volatile boolean closed;

  /** Builds the channel; {@code configure} has the last word. */
  public Connection(
      String address, List<ClientInterceptor> interceptors, RetryPolicy retry, ManagedChannelBuilder<?> builder,
      Consumer<ManagedChannelBuilder<?>> configure) {
    this.address = address;
    this.retry = retry;
    builder
            .intercept(interceptors)
            .userAgent("threadkeep-java/" + ThreadkeepClient.VERSION)
            .enableRetry()
            .maxRetryAttempts(Math.max(retry.attempts(), 2))
            .defaultServiceConfig(retry.serviceConfig())
            .disableServiceConfigLookUp()
            // By default gRPC silently excludes appends of more than 1 MiB from retries.
            .perRpcBufferLimit(MAX_MESSAGE_BYTES)
            .retryBufferSize(MAX_MESSAGE_BYTES)
            .keepAliveTime(30, TimeUnit.SECONDS)
            .keepAliveTimeout(10, TimeUnit.SECONDS)
            .maxInboundMessageSize(MAX_MESSAGE_BYTES);
    configure.accept(builder);
    this.channel = builder.build();
    Reconnect.often(channel);
  }

  /** Returns the address of the server. */
  public String address() {
    return address;
  }

  /** Returns the channel with the credential. Throws IllegalStateException once the client is closed. */
  public ManagedChannel channel() {
    if (closed) {
      throw new IllegalStateException("the client is closed");
    }
    return channel;
  }

  /** gRPC retries the codes of the policy itself; a connection that breaks during a call can also return another code. */
  public <Q, R> R call(MethodDescriptor<Q, R> method, Q request, Duration timeout) {
    var options = options(timeout);
    for (int attempt = 1; ; attempt++) {
      try {
        return ClientCalls.blockingUnaryCall(channel(), method, options, request);
      } catch (StatusRuntimeException error) {
        var failure = failure(error.getStatus(), error.getTrailers());
        if (!isRepeated(method, error.getStatus(), failure, attempt) || !paused(attempt)) {
          throw failure;
        }
      }
    }
  }

  /** Calls like {@link #call}, without waiting. */
  public <Q, R> CompletableFuture<R> callAsync(MethodDescriptor<Q, R> method, Q request, Duration timeout) {
    var future = new CompletableFuture<R>();
    attempt(method, request, options(timeout), future, 1);
    return future;
  }

  private <Q, R> void attempt(MethodDescriptor<Q, R> method, Q request, CallOptions options, CompletableFuture<R> future, int attempt) {
    try {
      send(method, request, options, future, attempt);
    } catch (ThreadkeepException noToken) {
      future.completeExceptionally(noToken);
    }
  }

  private <Q, R> void send(MethodDescriptor<Q, R> method, Q request, CallOptions options, CompletableFuture<R> future, int attempt) {
    var answer = ClientCalls.futureUnaryCall(channel().newCall(method, options), request);
    future.whenComplete((response, error) -> answer.cancel(true)); // no effect unless the future was canceled
    answer.addListener(
        () -> {
          try {
            future.complete(answer.get());
          } catch (ExecutionException error) {
            var status = Status.fromThrowable(error);
            var failure = failure(status, Status.trailersFromThrowable(error));
            if (isRepeated(method, status, failure, attempt)) {
              later(pause(attempt), () -> attempt(method, request, options, future, attempt + 1), future);
            } else {
              future.completeExceptionally(failure);
            }
          } catch (InterruptedException | RuntimeException canceled) {
            future.cancel(false);
          }
        },
        Runnable::run);
  }

  /** Runs this after a pause, in the context of the call, unless the future was canceled or the client was closed. */
  private void later(Duration pause, Runnable attempt, CompletableFuture<?> future) {
    var timer = CompletableFuture.delayedExecutor(pause.toNanos(), TimeUnit.NANOSECONDS);
    timer.execute(
        Context.current()
            .wrap(
                () -> {
                  try {
                    if (!future.isDone()) {
                      attempt.run();
                    }
                  } catch (IllegalStateException isClosed) {
                    future.completeExceptionally(failure(Status.CANCELLED, null));
                  } catch (RuntimeException unexpected) { // of an interceptor
                    future.completeExceptionally(unexpected);
                  }
                }));
  }

  /** Returns whether a failed call is sent again here: one whose connection broke, with a code that gRPC does not retry. */
  private boolean isRepeated(MethodDescriptor<?, ?> method, Status status, ThreadkeepException failure, int attempt) {
    boolean broke = failure.code() == Status.Code.UNAVAILABLE && !RetryPolicy.CODES.contains(status.getCode().name());
    if (!broke || attempt >= retry.attempts() || !(method.isSafe() || method.isIdempotent())) {
      return false;
    }
    LOG.log(Level.DEBUG, "{0} is called again: {1}", method.getFullMethodName(), failure.getMessage());
    return true;
  }

  /** Returns a pause of up to a bound that doubles with each attempt: a server that ends breaks many connections at once. */
  private Duration pause(int attempt) {
    long bound = Math.min(retry.longest().toNanos(), retry.first().toNanos() << Math.min(attempt - 1, 10));
    return Duration.ofNanos(ThreadLocalRandom.current().nextLong(bound + 1));
  }

  /** Pauses; false if the thread was interrupted. */
  private boolean paused(int attempt) {
    try {
      TimeUnit.NANOSECONDS.sleep(pause(attempt).toNanos());
      return true;
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  private static CallOptions options(Duration timeout) {
    return timeout.isZero() ? CallOptions.DEFAULT : CallOptions.DEFAULT.withDeadlineAfter(timeout);
  }

  /** Returns the typed error of a failed call. */
  public ThreadkeepException failure(Status status, Metadata trailers) {
    var error = Errors.of(status, trailers);
    boolean unavailable = error.code() == Status.Code.UNAVAILABLE;
    if (closed && (unavailable || error.code() == Status.Code.CANCELLED)) {
      return Errors.of(Status.Code.CANCELLED, "the call was canceled: the client is closed");
    }
    if (error.code() == Status.Code.CANCELLED && !canceledHere() && !error.isOfServer()) {
      // An overloaded server or a proxy ended it.
      return Errors.of(Status.UNAVAILABLE.withDescription(CANCELED.formatted(address, error.description())), trailers);
    }
    boolean unclear = error.code() == Status.Code.INTERNAL || error.code() == Status.Code.UNKNOWN;
    boolean absent = unavailable || unclear && Stream.of(BROKEN).anyMatch(error.description()::contains);
    if (!absent || error.isOfServer()) {
      return error;
    }
    Throwable root = error;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    String said = root == error ? error.description() : root.getMessage();
    String why = (said == null ? root.toString() : said).lines().findFirst().orElse("");
    String message = (why.contains(NOT_HTTP2) ? ELSEWHERE : ABSENT).formatted(address, why);
    return Errors.of(Status.UNAVAILABLE.withDescription(message).withCause(status.getCause()), trailers);
  }

  /** Returns whether the caller may have canceled the call: a blocking call ends when its thread is interrupted. */
  private static boolean canceledHere() {
    return Thread.currentThread().isInterrupted() || Context.current().isCancelled();
  }

  /** Calls this with the error of a stream when the connection is closed. */
  public void add(Consumer<ThreadkeepException> ending) {
    streams.add(ending);
  }

  /** Calls this no more. */
  public void remove(Consumer<ThreadkeepException> ending) {
    streams.remove(ending);
  }

  @Override
  public void close() {
    closed = true;
    streams.forEach(ending -> ending.accept(failure(Status.CANCELLED, null)));
    channel.shutdownNow();
    try {
      channel.awaitTermination(CLOSES_WITHIN.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}

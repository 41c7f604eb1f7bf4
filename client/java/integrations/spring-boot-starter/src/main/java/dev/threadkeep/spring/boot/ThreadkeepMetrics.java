package dev.threadkeep.spring.boot;

import dev.threadkeep.ThreadkeepClientBuilder;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.ForwardingClientCallListener.SimpleForwardingClientCallListener;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;

/**
 * Records each call in the timer {@code threadkeep.client.calls}, once, with its retries: tags {@code service}, {@code method} and {@code
 * status}, a status code of gRPC. A watch is a call that lasts as long as it is open.
 */
public final class ThreadkeepMetrics implements ClientInterceptor, ThreadkeepClientCustomizer {
  /** Name of the timer. */
  public static final String CALLS = "threadkeep.client.calls";

  private final MeterRegistry registry;

  /**
   * Creates the interceptor.
   *
   * @param registry registry of the timers
   */
  public ThreadkeepMetrics(MeterRegistry registry) {
    this.registry = registry;
  }

  @Override
  public void customize(ThreadkeepClientBuilder builder) {
    builder.interceptor(this);
  }

  @Override
  public <Q, R> ClientCall<Q, R> interceptCall(MethodDescriptor<Q, R> method, CallOptions options, Channel next) {
    return new SimpleForwardingClientCall<>(next.newCall(method, options)) {
      @Override
      public void start(Listener<R> listener, Metadata headers) {
        Timer.Sample sample = Timer.start(registry);
        super.start(new SimpleForwardingClientCallListener<>(listener) {
          @Override
          public void onClose(Status status, Metadata trailers) {
            sample.stop(timer(method, status));
            super.onClose(status, trailers);
          }
        }, headers);
      }
    };
  }

  private Timer timer(MethodDescriptor<?, ?> method, Status status) {
    return Timer.builder(CALLS)
        .description("Calls of the Threadkeep server, retries included")
        .tag("service", String.valueOf(method.getServiceName()))
        .tag("method", String.valueOf(method.getBareMethodName()))
        .tag("status", status.getCode().name())
        .register(registry);
  }
}

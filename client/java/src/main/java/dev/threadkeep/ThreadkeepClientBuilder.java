package dev.threadkeep;

import dev.threadkeep.async.AsyncThreadkeepClient;
import dev.threadkeep.internal.Address;
import dev.threadkeep.internal.Connection;
import dev.threadkeep.internal.RetryPolicy;
import dev.threadkeep.options.RetryOptions;
import dev.threadkeep.v1.SessionRef;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ChannelCredentials;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.TlsChannelCredentials;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Configures a {@link ThreadkeepClient} or an {@link AsyncThreadkeepClient}. Each method documents its default. */
public final class ThreadkeepClientBuilder {
  private final SessionRef.Builder whose = SessionRef.newBuilder();
  String address;
  String token;
  private Supplier<String> supplier;
  private final List<ClientInterceptor> interceptors = new ArrayList<>();
  private Consumer<ManagedChannelBuilder<?>> configure = channel -> {};
  private RetryPolicy retry = new RetryOptions().policy();
  private Duration timeout = Duration.ofSeconds(30);
  private ChannelCredentials credentials;
  private boolean plaintextToken;

  ThreadkeepClientBuilder(Map<String, String> environment) {
    String named = environment.getOrDefault("THREADKEEP_ADDRESS", "");
    this.address = named.isEmpty() ? "127.0.0.1" : named;
    this.token = environment.getOrDefault("THREADKEEP_TOKEN", "");
  }

  /**
   * Sets the address of the server.
   *
   * @param value "host:port" of the gRPC port or "host" for port 7443, after "https://" for TLS, or a gRPC target such as
   *     "dns:///host:port"; default: the value of THREADKEEP_ADDRESS, else 127.0.0.1:7443
   * @return this builder
   */
  public ThreadkeepClientBuilder address(String value) {
    this.address = Objects.requireNonNull(value, "address");
    return this;
  }

  /**
   * Sets the app, which completes sessions that are specified by id alone, and lists, watches and searches that leave it empty.
   *
   * @param value app; default: none
   * @return this builder
   */
  public ThreadkeepClientBuilder app(String value) {
    whose.setApp(value);
    return this;
  }

  /**
   * Sets the user, who completes sessions that are specified by id alone, and lists, watches and searches that leave it empty.
   *
   * @param value user; default: none, or the user of the token
   * @return this builder
   */
  public ThreadkeepClientBuilder userId(String value) {
    whose.setUserId(value);
    return this;
  }

  /**
   * Sets the token, sent as "authorization: Bearer". Without TLS, {@link #build()} rejects it for addresses other than
   * loopback.
   *
   * @param value token; default: the value of THREADKEEP_TOKEN, else none; empty sends none
   * @return this builder
   */
  public ThreadkeepClientBuilder token(String value) {
    this.token = Objects.requireNonNull(value, "token");
    return this;
  }

  /**
   * Supplies the token, called before each call, on the same thread; instead of {@link #token(String)}. If it throws, the call
   * fails with UNAUTHENTICATED.
   *
   * @param supplier returns the token
   * @return this builder
   */
  public ThreadkeepClientBuilder token(Supplier<String> supplier) {
    this.supplier = Objects.requireNonNull(supplier, "token");
    return this;
  }

  /**
   * Adds an interceptor, for example for traces. It sees each call once, with its retries inside.
   *
   * @param value interceptor; the one that was added first sees a call first
   * @return this builder
   */
  public ThreadkeepClientBuilder interceptor(ClientInterceptor value) {
    interceptors.add(0, Objects.requireNonNull(value, "interceptor"));
    return this;
  }

  /**
   * Sets how calls are retried that are safe to repeat.
   *
   * @param options sets the options, see {@link RetryOptions}
   * @return this builder
   */
  public ThreadkeepClientBuilder retry(Consumer<RetryOptions> options) {
    var chosen = new RetryOptions();
    options.accept(chosen);
    this.retry = chosen.policy();
    return this;
  }

  /**
   * Changes the channel after this SDK has configured it, for settings without a method of their own: a proxy, an executor,
   * another authority.
   *
   * @param value configures the channel
   * @return this builder
   */
  public ThreadkeepClientBuilder channel(Consumer<ManagedChannelBuilder<?>> value) {
    this.configure = Objects.requireNonNull(value, "channel");
    return this;
  }

  /**
   * Sends the token over a network without TLS too.
   *
   * @return this builder
   */
  public ThreadkeepClientBuilder allowPlaintextToken() {
    this.plaintextToken = true;
    return this;
  }

  /**
   * Sets the timeout of calls. Watches have none.
   *
   * @param value timeout of a call, retries included; default: 30 seconds; zero means no limit
   * @return this builder
   */
  public ThreadkeepClientBuilder timeout(Duration value) {
    this.timeout = Objects.requireNonNull(value, "timeout");
    return this;
  }

  /**
   * Sets TLS. Default: on for an https address, with the system's roots, else off.
   *
   * @param value {@code TlsChannelCredentials.create()} for the system's roots, or custom roots with
   *     {@code TlsChannelCredentials.newBuilder().trustManager(new File("ca.pem")).build()}
   * @return this builder
   */
  public ThreadkeepClientBuilder tls(ChannelCredentials value) {
    this.credentials = Objects.requireNonNull(value, "tls");
    return this;
  }

  /**
   * Creates the client, which connects with its first call.
   *
   * @return a client to close
   * @throws IllegalArgumentException for an invalid address, a scheme that contradicts {@link #tls}, or a token that would be
   *     sent unencrypted
   */
  public ThreadkeepClient build() {
    var server = Address.of(address);
    boolean encrypted = credentials == null ? server.tls().orElse(false) : !(credentials instanceof InsecureChannelCredentials);
    if (server.tls().orElse(encrypted) != encrypted) {
      throw new IllegalArgumentException("the scheme of the address contradicts the option tls");
    }
    boolean hasToken = supplier != null || !token.isEmpty();
    if (hasToken && !encrypted && !plaintextToken && !server.isLoopback()) {
      String how = "use the address \"https://%1$s\" for TLS, or call allowPlaintextToken() on a network that you trust";
      throw new IllegalArgumentException(("the token would go to %1$s unencrypted; " + how).formatted(server.authority()));
    }
    var byDefault = encrypted ? TlsChannelCredentials.create() : InsecureChannelCredentials.create();
    var channel = Grpc.newChannelBuilder(server.authority(), credentials == null ? byDefault : credentials);
    var all = new ArrayList<ClientInterceptor>();
    if (hasToken) {
      all.add(new Credentials(supplier == null ? () -> token : supplier));
    }
    all.addAll(interceptors);
    return new ThreadkeepClient(new Connection(server.authority(), all, retry, channel, configure), whose.build(), timeout);
  }

  /**
   * Creates an asynchronous client, like {@link #build()}: {@code build().async()}.
   *
   * @return a client to close
   * @throws IllegalArgumentException as {@link #build()}
   */
  public AsyncThreadkeepClient buildAsync() {
    return build().async();
  }

  /** Adds the token to each call. */
  private record Credentials(Supplier<String> token) implements ClientInterceptor {
    private static final Metadata.Key<String> AUTHORIZATION = Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

    @Override
    public <Q, R> ClientCall<Q, R> interceptCall(MethodDescriptor<Q, R> method, CallOptions options, Channel next) {
      return new SimpleForwardingClientCall<>(next.newCall(method, options)) {
        @Override
        public void start(Listener<R> listener, Metadata headers) {
          headers.put(AUTHORIZATION, "Bearer " + supplied());
          super.start(listener, headers);
        }
      };
    }

    private String supplied() {
      try {
        return Objects.requireNonNull(token.get(), "the token");
      } catch (RuntimeException failure) {
        var status = Status.UNAUTHENTICATED.withDescription("the supplier of the token failed: " + failure.getMessage());
        throw ThreadkeepException.from(status.withCause(failure).asRuntimeException());
      }
    }
  }
}

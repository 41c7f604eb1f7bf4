package dev.recollect;

import dev.recollect.v1.SessionRef;
import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannelBuilder;
import io.grpc.TlsChannelCredentials;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;

/** Configures a {@link Recollect}. What is not set has the default that its method names. */
public final class RecollectBuilder {
  private static final String DEFAULT_ADDRESS = "127.0.0.1:7443";

  private final Map<String, String> environment;
  private final SessionRef.Builder whose = SessionRef.newBuilder();
  private String address;
  private String token;
  private Duration timeout = Duration.ofSeconds(30);
  private ChannelCredentials credentials = InsecureChannelCredentials.create();
  private Consumer<ManagedChannelBuilder<?>> further = channel -> {};

  RecollectBuilder() {
    this(System.getenv());
  }

  RecollectBuilder(Map<String, String> environment) {
    this.environment = environment;
  }

  /**
   * Where the server is.
   *
   * @param value "host:port"; by default the value of RECOLLECT_ADDRESS, else 127.0.0.1:7443
   * @return this builder
   */
  public RecollectBuilder address(String value) {
    this.address = Objects.requireNonNull(value, "address");
    return this;
  }

  /**
   * The app that completes a session which is given by its id alone.
   *
   * @param value by default none
   * @return this builder
   */
  public RecollectBuilder app(String value) {
    whose.setApp(value);
    return this;
  }

  /**
   * The user who completes a session which is given by its id alone.
   *
   * @param value by default none, or who the token names
   * @return this builder
   */
  public RecollectBuilder userId(String value) {
    whose.setUserId(value);
    return this;
  }

  /**
   * The credential, sent as "authorization: Bearer".
   *
   * @param value by default the value of RECOLLECT_TOKEN, else none is sent; empty sends none
   * @return this builder
   */
  public RecollectBuilder token(String value) {
    this.token = Objects.requireNonNull(value, "token");
    return this;
  }

  /**
   * Limits every call but watches, which have no limit.
   *
   * @param value how long a call may take, its retries included; by default 30 seconds. ChronoUnit.FOREVER.getDuration() for no limit
   * @return this builder
   */
  public RecollectBuilder timeout(Duration value) {
    this.timeout = Objects.requireNonNull(value, "timeout");
    return this;
  }

  /**
   * TLS with the system's roots, or plaintext.
   *
   * @param on by default false
   * @return this builder
   */
  public RecollectBuilder tls(boolean on) {
    return tls(on ? TlsChannelCredentials.create() : InsecureChannelCredentials.create());
  }

  /**
   * TLS with roots or a client certificate of one's own.
   *
   * @param value for example {@code TlsChannelCredentials.newBuilder().trustManager(new File("ca.pem")).build()}
   * @return this builder
   */
  public RecollectBuilder tls(ChannelCredentials value) {
    this.credentials = Objects.requireNonNull(value, "tls");
    return this;
  }

  /**
   * Further settings of the gRPC channel; they win over the client's.
   *
   * @param settings told the channel's builder before the channel is made
   * @return this builder
   */
  public RecollectBuilder channel(Consumer<ManagedChannelBuilder<?>> settings) {
    this.further = Objects.requireNonNull(settings, "channel");
    return this;
  }

  /**
   * The client. It connects with its first call.
   *
   * @return a client to close
   */
  public Recollect build() {
    var channel = Grpc.newChannelBuilder(address(), credentials);
    Connection.configure(channel);
    further.accept(channel);
    return new Recollect(new Connection(address(), token(), channel), whose.build(), timeout);
  }

  String address() {
    if (address != null && !address.isEmpty()) {
      return address;
    }
    String named = environment.getOrDefault("RECOLLECT_ADDRESS", "");
    return named.isEmpty() ? DEFAULT_ADDRESS : named;
  }

  String token() {
    return token == null ? environment.getOrDefault("RECOLLECT_TOKEN", "") : token;
  }
}

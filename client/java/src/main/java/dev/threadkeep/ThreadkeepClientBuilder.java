package dev.threadkeep;

import dev.threadkeep.v1.SessionRef;
import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.TlsChannelCredentials;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;

/** Configures a {@link ThreadkeepClient}. Each method documents its default. */
public final class ThreadkeepClientBuilder {
  private final SessionRef.Builder whose = SessionRef.newBuilder();
  String address;
  String token;
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
    if (!token.isEmpty() && !encrypted && !plaintextToken && !server.isLoopback()) {
      String how = "use the address \"https://%1$s\" for TLS, or call allowPlaintextToken() on a network that you trust";
      throw new IllegalArgumentException(("the token would go to %1$s unencrypted; " + how).formatted(server.authority()));
    }
    var byDefault = encrypted ? TlsChannelCredentials.create() : InsecureChannelCredentials.create();
    var channel = Grpc.newChannelBuilder(server.authority(), credentials == null ? byDefault : credentials);
    return new ThreadkeepClient(new Connection(server.authority(), token, channel), whose.build(), timeout);
  }
}

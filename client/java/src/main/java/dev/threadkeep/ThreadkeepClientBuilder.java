package dev.threadkeep;

import dev.threadkeep.v1.SessionRef;
import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.TlsChannelCredentials;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;

/** Configures a {@link ThreadkeepClient}. What is not set has the default that its method names. */
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
   * Where the server is.
   *
   * @param value "host:port" of the gRPC port, "host" alone for port 7443, or either after "https://" for TLS, or a target of gRPC such as
   *     "dns:///host:port"; by default the value of THREADKEEP_ADDRESS, else 127.0.0.1:7443
   * @return this builder
   */
  public ThreadkeepClientBuilder address(String value) {
    this.address = Objects.requireNonNull(value, "address");
    return this;
  }

  /**
   * The app that completes a session which is given by its id alone, and fills what lists, watches and searches leave empty.
   *
   * @param value by default none
   * @return this builder
   */
  public ThreadkeepClientBuilder app(String value) {
    whose.setApp(value);
    return this;
  }

  /**
   * The user who completes a session which is given by its id alone, and fills what lists, watches and searches leave empty.
   *
   * @param value by default none, or who the token names
   * @return this builder
   */
  public ThreadkeepClientBuilder userId(String value) {
    whose.setUserId(value);
    return this;
  }

  /**
   * The credential, sent as "authorization: Bearer". Without TLS, {@link #build()} refuses it for every address but loopback.
   *
   * @param value by default the value of THREADKEEP_TOKEN, else none is sent; empty sends none
   * @return this builder
   */
  public ThreadkeepClientBuilder token(String value) {
    this.token = Objects.requireNonNull(value, "token");
    return this;
  }

  /**
   * Sends the token without TLS over a network too.
   *
   * @return this builder
   */
  public ThreadkeepClientBuilder allowPlaintextToken() {
    this.plaintextToken = true;
    return this;
  }

  /**
   * Limits every call but watches, which have no limit.
   *
   * @param value how long a call may take, its retries included; by default 30 seconds, zero is no limit
   * @return this builder
   */
  public ThreadkeepClientBuilder timeout(Duration value) {
    this.timeout = Objects.requireNonNull(value, "timeout");
    return this;
  }

  /**
   * TLS; by default it is on for an https address, with the system's roots, and off for any other.
   *
   * @param value {@code TlsChannelCredentials.create()} for the system's roots, or with one's own
   *     {@code TlsChannelCredentials.newBuilder().trustManager(new File("ca.pem")).build()}
   * @return this builder
   */
  public ThreadkeepClientBuilder tls(ChannelCredentials value) {
    this.credentials = Objects.requireNonNull(value, "tls");
    return this;
  }

  /**
   * The client. It connects with its first call.
   *
   * @return a client to close
   * @throws IllegalArgumentException for an address that is none, for a scheme that contradicts {@link #tls}, and for a token that would
   *     go over a network unencrypted
   */
  public ThreadkeepClient build() {
    var server = Address.of(address);
    boolean encrypted = credentials == null ? server.tls().orElse(false) : !(credentials instanceof InsecureChannelCredentials);
    if (server.tls().orElse(encrypted) != encrypted) {
      throw new IllegalArgumentException("the scheme of the address contradicts what tls was called with");
    }
    if (!token.isEmpty() && !encrypted && !plaintextToken && !server.isLoopback()) {
      String how = "give the address as \"https://%1$s\" for TLS, or call allowPlaintextToken() on a network that you trust";
      throw new IllegalArgumentException(("the token would go to %1$s unencrypted; " + how).formatted(server.authority()));
    }
    var byDefault = encrypted ? TlsChannelCredentials.create() : InsecureChannelCredentials.create();
    var channel = Grpc.newChannelBuilder(server.authority(), credentials == null ? byDefault : credentials);
    return new ThreadkeepClient(new Connection(server.authority(), token, channel), whose.build(), timeout);
  }
}

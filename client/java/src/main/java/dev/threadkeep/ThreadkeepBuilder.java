package dev.threadkeep;

import dev.threadkeep.v1.SessionRef;
import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;

/** Configures a {@link Threadkeep}. What is not set has the default that its method names. */
public final class ThreadkeepBuilder {
  private final SessionRef.Builder whose = SessionRef.newBuilder();
  String address;
  String token;
  private Duration timeout = Duration.ofSeconds(30);
  private ChannelCredentials credentials = InsecureChannelCredentials.create();

  ThreadkeepBuilder(Map<String, String> environment) {
    String named = environment.getOrDefault("THREADKEEP_ADDRESS", "");
    this.address = named.isEmpty() ? "127.0.0.1:7443" : named;
    this.token = environment.getOrDefault("THREADKEEP_TOKEN", "");
  }

  /**
   * Where the server is.
   *
   * @param value "host:port"; by default the value of THREADKEEP_ADDRESS, else 127.0.0.1:7443
   * @return this builder
   */
  public ThreadkeepBuilder address(String value) {
    this.address = Objects.requireNonNull(value, "address");
    return this;
  }

  /**
   * The app that completes a session which is given by its id alone.
   *
   * @param value by default none
   * @return this builder
   */
  public ThreadkeepBuilder app(String value) {
    whose.setApp(value);
    return this;
  }

  /**
   * The user who completes a session which is given by its id alone.
   *
   * @param value by default none, or who the token names
   * @return this builder
   */
  public ThreadkeepBuilder userId(String value) {
    whose.setUserId(value);
    return this;
  }

  /**
   * The credential, sent as "authorization: Bearer".
   *
   * @param value by default the value of THREADKEEP_TOKEN, else none is sent; empty sends none
   * @return this builder
   */
  public ThreadkeepBuilder token(String value) {
    this.token = Objects.requireNonNull(value, "token");
    return this;
  }

  /**
   * Limits every call but watches, which have no limit.
   *
   * @param value how long a call may take, its retries included; by default 30 seconds, zero is no limit
   * @return this builder
   */
  public ThreadkeepBuilder timeout(Duration value) {
    this.timeout = Objects.requireNonNull(value, "timeout");
    return this;
  }

  /**
   * TLS; by default the connection is not encrypted.
   *
   * @param value {@code TlsChannelCredentials.create()} for the system's roots, or with one's own
   *     {@code TlsChannelCredentials.newBuilder().trustManager(new File("ca.pem")).build()}
   * @return this builder
   */
  public ThreadkeepBuilder tls(ChannelCredentials value) {
    this.credentials = Objects.requireNonNull(value, "tls");
    return this;
  }

  /**
   * The client. It connects with its first call.
   *
   * @return a client to close
   */
  public Threadkeep build() {
    return new Threadkeep(new Connection(address, token, Grpc.newChannelBuilder(address, credentials)), whose.build(), timeout);
  }
}
